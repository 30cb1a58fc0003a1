#pragma once
// Stream buffers over memory, for libraries that want streams: no allocation once warm, no copy of the result.

#include <streambuf>
#include <string>
#include <vector>

namespace serializers {

class memory_out final : public std::streambuf {
public:
    memory_out() : bytes_(1 << 16) { clear(); }
    void clear() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
    [[nodiscard]] char const* data() const { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(pptr() - pbase()); }

private:
    std::vector<char> bytes_; // big enough for both messages in every encoding
};

class memory_in final : public std::streambuf {
public:
    explicit memory_in(std::string const& bytes)
    {
        auto* p = const_cast<char*>(bytes.data()); // only read
        setg(p, p, p + bytes.size());
    }
};

} // namespace serializers
