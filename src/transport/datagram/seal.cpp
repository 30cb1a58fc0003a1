#include "transport/datagram/seal.hpp"

#include "base/processor.hpp"
#include "towline/error.hpp"

#include <sodium.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace towline::transport::datagram {

namespace {

unsigned char const* raw(std::byte const* p) noexcept { return reinterpret_cast<unsigned char const*>(p); }
unsigned char* raw(std::byte* p) noexcept { return reinterpret_cast<unsigned char*>(p); }

std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES> nonce_of(std::uint64_t counter) noexcept
{
    std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES> nonce{};
    std::memcpy(nonce.data(), &counter, sizeof counter);
    return nonce;
}
static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == 32 && crypto_aead_chacha20poly1305_ietf_ABYTES == wire::tag_bytes);
static_assert(crypto_generichash_BYTES_MIN <= wire::hash_bytes);

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected

consteval std::array<std::uint32_t, 256> make_table()
{
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t v = i;
        for (int bit = 0; bit < 8; ++bit)
            v = v >> 1 ^ ((v & 1) != 0 ? polynomial : 0);
        table[i] = v;
    }
    return table;
}
constexpr auto table = make_table();

std::uint32_t crc_by_table(std::byte const* p, std::size_t n, std::uint32_t v) noexcept
{
    for (; n != 0; --n, ++p)
        v = v >> 8 ^ table[(v ^ static_cast<std::uint32_t>(*p)) & 0xff];
    return v;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(std::byte const* p, std::size_t n, std::uint32_t v) noexcept
{
    std::uint64_t wide = v;
    for (; n >= 8; n -= 8, p += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, p, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    return crc_by_table(p, n, static_cast<std::uint32_t>(wide));
}
#endif

} // namespace

void begin_sealing()
{
    if (sodium_init() < 0)
        throw error("libsodium cannot be used: it found no source of random numbers");
}

std::uint32_t random_number()
{
    return randombytes_random();
}

void sign(job_key const& key, std::byte* bytes, std::size_t size) noexcept
{
    crypto_generichash(raw(bytes + size), wire::hash_bytes, raw(bytes), size, raw(key.data()), key.size());
}

bool is_signed(job_key const& key, std::span<std::byte const> packet) noexcept
{
    if (packet.size() < wire::hash_bytes)
        return false;
    std::size_t const size = packet.size() - wire::hash_bytes;
    std::array<unsigned char, wire::hash_bytes> right{};
    crypto_generichash(right.data(), right.size(), raw(packet.data()), size, raw(key.data()), key.size());
    return sodium_memcmp(right.data(), packet.data() + size, right.size()) == 0;
}

pair_keys make_keys(job_key const& key, process_name own, process_name peer) noexcept
{
    auto const derive = [&](process_name from, process_name to) {
        struct {
            char purpose[16] = "towline datagra";
            std::uint32_t words[4];
        } text;
        text.words[0] = from.rank;
        text.words[1] = from.epoch;
        text.words[2] = to.rank;
        text.words[3] = to.epoch;
        static_assert(sizeof text == 32);
        std::array<std::byte, 32> made;
        crypto_generichash(raw(made.data()), made.size(), reinterpret_cast<unsigned char const*>(&text), sizeof text, raw(key.data()),
                           key.size());
        return made;
    };
    return {.sending = derive(own, peer), .receiving = derive(peer, own)};
}

void seal(std::array<std::byte, 32> const& key, std::uint64_t counter, std::span<std::byte const> head, std::span<std::byte const> payload,
          std::byte* out) noexcept
{
    crypto_aead_chacha20poly1305_ietf_encrypt(raw(out), nullptr, raw(payload.data()), payload.size(), raw(head.data()), head.size(),
                                              nullptr,
                                              nonce_of(counter).data(), raw(key.data()));
}

bool unseal(std::array<std::byte, 32> const& key, std::uint64_t counter, std::span<std::byte> packet, std::size_t head_bytes) noexcept
{
    if (packet.size() < head_bytes + wire::tag_bytes)
        return false;
    std::byte* const text = packet.data() + head_bytes;
    return crypto_aead_chacha20poly1305_ietf_decrypt(raw(text), nullptr, nullptr, raw(text), packet.size() - head_bytes, raw(packet.data()),
                                                     head_bytes, nonce_of(counter).data(), raw(key.data())) == 0;
}

std::uint32_t crc32c(std::span<std::byte const> bytes, std::uint32_t before) noexcept
{
#if defined(__x86_64__)
    static bool const has_instruction = base::has(base::instructions::sse4_2);
    if (has_instruction)
        return ~crc_by_instruction(bytes.data(), bytes.size(), ~before);
#endif
    return ~crc_by_table(bytes.data(), bytes.size(), ~before);
}

} // namespace towline::transport::datagram
