#pragma once
// The copy engine: copies bytes while the submitting thread does something else. One interface, several implementations:
//
//   inline_engine   copies inside `submit`; the next `poll` reports the end, as with the others                  (inline_engine.hpp)
//   helper_engine   a thread on a spare core takes tasks from a queue and puts their ends into another          (helper_engine.hpp);
//                   a polling thread may `help`, so that two cores copy. Memory of a process that is not mapped is read and written
//                   by the same thread with process_vm_readv/writev
//
// The idea is the on-loading of MVAPICH2 and its successors: task queues and signal queues between a process and a core that copies.
//
// A DMA engine (Intel DSA, say) is one file more: a class derived from copy_engine, and a line in `open` (placement.hpp). What it has to
//   do: submit   Writes one descriptor per range (a batch descriptor for a list) into the portal of a work queue: opcode *memory move*,
//            source, destination, size (cut at the queue's max_transfer_size), address of the completion record. ENQCMD where the queue is
//            shared (a retry is `busy`: return 0), MOVDIR64B where it is dedicated (count the queue's room here; `busy` when it is full).
//            Completion records (32 bytes, aligned to 32) lie in memory that is allocated when the engine is made, one per descriptor of
//            the queue: nothing is allocated here. Only reach::here: `caps` says so, and other tasks are never submitted.
//   poll     Looks at the status byte of the records, oldest first. 1: done. 3: a page fault without *block on fault*: the record tells
//            how many bytes were moved (`bytes completed`) and the address: touch that page (a plain load or store), and submit the rest
//            of the range as a descriptor of its own; after a second fault at the same page copy it by base::copy_block. Anything else
//            is told as EIO with what was moved.
//   help     Nothing (false): descriptors cannot be taken back.
//   stop     Drain of the work queue, then poll for the last time: memory may be unmapped afterwards.
// The memory needs no registration (shared virtual memory, PASID); without SVM the kernel refuses the queue, and the file's factory says
// why. Ends that nobody polls for have to wake sleepers: `poll` may find them only when called, so the owner's wait keeps a short nap
// while `under_way` (or a thread that waits for the device's interrupt calls what helper_options::ended is).

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline::onload {

struct range {
    void* to;
    void const* from;
    std::size_t bytes;
};

/// Which side of a task is another process's memory.
enum class reach : std::uint8_t {
    here,        ///< both are mapped in this process
    reads_peer,  ///< `from` is an address in the process `pid`
    writes_peer, ///< `to` is
};

struct task {
    /// What is to be moved. A single range is copied by `submit`; a longer list stays the caller's until its end was polled. The memory
    /// that ranges name stays until then, too. Ranges of a task are moved in any order, and must not overlap each other.
    std::span<range const> ranges;
    reach where = reach::here;
    int pid = 0;
    void* context = nullptr;  ///< comes back with the end
};

/// Number of a task, 1 and up in the order of submission. 0: busy, nothing was taken.
using ticket = std::uint64_t;

/// The end of a task. A poller sees what was copied.
struct completion {
    ticket number = 0;
    void* context = nullptr;
    int error = 0;               ///< 0, or errno of the first range that could not be moved (ECANCELED: stopped before its end)
    std::uint64_t bytes = 0;     ///< moved; less than all where there was an error
    std::uint64_t onloaded = 0;  ///< of them, by the engine itself and not by threads that called submit or help
};

struct capabilities {
    char const* name;      ///< static
    bool own_pace;         ///< copies while the caller does something else
    bool reaches_peers;    ///< takes tasks other than reach::here
};

class copy_engine {
public:
    virtual ~copy_engine() = default;
    [[nodiscard]] virtual capabilities caps() const noexcept = 0;

    /// Takes a task, or says busy (0): the queue is full (behind a task that has not ended, also where later ones have), the engine was
    /// stopped, or this is a forked child. The caller copies by itself then, or comes again. Any thread. Never waits for a
    /// copy of others, never allocates.
    [[nodiscard]] virtual ticket submit(task const&) noexcept = 0;
    /// Ends that were not told yet, at most as many as there is room for. One thread at a time (with `help` and `stop`). Ends come in any
    /// order.
    [[nodiscard]] virtual std::size_t poll(std::span<completion>) noexcept = 0;
    /// Copies a part of what is under way on the calling thread, which has nothing better to do: some 10 us. False: nothing is left to
    /// take.
    virtual bool help() noexcept { return false; }
    /// A poll would find something. Any thread.
    [[nodiscard]] virtual bool ready() const noexcept = 0;
    /// Tasks whose ends were not polled. Any thread.
    [[nodiscard]] virtual std::size_t under_way() const noexcept = 0;
    /// Ends the engine's own activity: afterwards nothing is touched by it; what had not ended ends with ECANCELED, for `poll`. Submits
    /// nothing any more. No other thread may be inside a call.
    virtual void stop() noexcept = 0;

protected:
    copy_engine() = default;
    copy_engine(copy_engine const&) = default;
    copy_engine& operator=(copy_engine const&) = default;
};

} // namespace towline::onload
