#pragma once
// The archive: encodes arguments as index bytes (copied) and chunks (contiguous blocks that are not copied).
// Pure: no I/O, no globals, no knowledge of transports. Formats: docs/wire.md, "The archive".
// Source: HPX's chunked archive (Biddiscombe, Heller, Bikineev, Kaiser: "Zero Copy Serialization using RMA in the HPX
// Distributed Task-Based Runtime", 2017, section 3).
//
// This header supports numbers, enums, strings, vectors, spans, arrays, tuples, pairs, optionals, aggregates of all these, and classes with
// a members() function. Other types of the standard library have separate headers; archive_all.hpp includes all.
//
//     std::vector<std::byte> room;                    std::vector<particle> ps;
//     towline::archive_writer w(room);                towline::archive_reader r(bytes, &chunks);
//     w.write(particles);                             r.read_into(ps);
//     send(w.index(), w.chunks());                    r.finish();
//
// A class with private state returns its members, in the same order for both directions:
//     auto members() { return std::tie(a_, b_); }     auto members() const { return std::tie(a_, b_); }
// If it has no default constructor, it is built from the members in that order.

#include <towline/archive_reader.hpp>
#include <towline/archive_writer.hpp>
#include <towline/detail/archive_class.hpp>
#include <towline/detail/archive_range.hpp>
#include <towline/detail/archive_scalar.hpp>
#include <towline/detail/archive_string.hpp>
#include <towline/detail/archive_tuple.hpp>
