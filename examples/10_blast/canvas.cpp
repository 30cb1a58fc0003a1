#include "canvas.hpp"

#include "font.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace blast {
namespace {

constexpr char mark[] = "towline 10_blast"; // in the "Software" field of our files

struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, closer>;

bool written_by_us(std::FILE* f)
{
    char head[512];
    std::size_t size = std::fread(head, 1, sizeof head, f);
    std::string_view text(head, size);
    return text.find(mark) != std::string_view::npos && size > 8 && png_sig_cmp(reinterpret_cast<png_const_bytep>(head), 0, 8) == 0;
}

/// False if libpng or the file refused.
bool encode(std::FILE* to, std::uint8_t const* pixels, int width, int height)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) { // libpng comes back here when it fails
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, to);
    png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    char key[] = "Software";
    char value[sizeof mark];
    std::memcpy(value, mark, sizeof mark);
    png_text text{};
    text.compression = PNG_TEXT_COMPRESSION_NONE;
    text.key = key;
    text.text = value;
    png_set_text(png, info, &text, 1);
    png_write_info(png, info);
    for (int y = 0; y < height; ++y)
        png_write_row(png, pixels + static_cast<std::size_t>(y) * width * 3);
    png_write_end(png, nullptr);
    png_destroy_write_struct(&png, &info);
    return true;
}

std::uint8_t byte(double x)
{
    return static_cast<std::uint8_t>(std::lround(std::clamp(x, 0.0, 1.0) * 255));
}

/// How much of a pixel is covered whose centre lies `inside` pixels inside an edge.
double coverage(double inside)
{
    return std::clamp(inside + 0.5, 0.0, 1.0);
}

} // namespace

canvas::canvas(int width, int height, colour background)
    : width_(width), height_(height), pixels_(static_cast<std::size_t>(width) * height, background)
{
}

void canvas::set(int x, int y, colour c)
{
    blend(x, y, c, 1);
}

void canvas::blend(int x, int y, colour c, double opacity)
{
    if (x < 0 || y < 0 || x >= width_ || y >= height_)
        return;
    colour& p = pixels_[static_cast<std::size_t>(y) * width_ + x];
    auto mixed = [&](double a, double b) { return a + opacity * (b - a); };
    p = {mixed(p.red, c.red), mixed(p.green, c.green), mixed(p.blue, c.blue)};
}

void canvas::rectangle(int x, int y, int width, int height, colour c)
{
    for (int j = y; j < y + height; ++j)
        for (int i = x; i < x + width; ++i)
            set(i, j, c);
}

void canvas::line(double x0, double y0, double x1, double y1, double thickness, colour c, double opacity)
{
    double length = std::hypot(x1 - x0, y1 - y0);
    if (!(length > 0))
        return;
    double ux = (x1 - x0) / length;
    double uy = (y1 - y0) / length;
    double half = thickness / 2;
    for (int y = static_cast<int>(std::min(y0, y1) - half) - 1; y <= std::max(y0, y1) + half + 1; ++y)
        for (int x = static_cast<int>(std::min(x0, x1) - half) - 1; x <= std::max(x0, x1) + half + 1; ++x) {
            double px = x + 0.5 - x0;
            double py = y + 0.5 - y0;
            double along = px * ux + py * uy;
            double beside = std::abs(px * uy - py * ux);
            double cover = coverage(half - beside) * coverage(std::min(along, length - along));
            if (cover > 0)
                blend(x, y, c, opacity * cover);
        }
}

void canvas::circle(double cx, double cy, double radius, double thickness, colour c, double opacity)
{
    double reach = radius + thickness;
    for (int y = static_cast<int>(cy - reach) - 1; y <= cy + reach + 1; ++y)
        for (int x = static_cast<int>(cx - reach) - 1; x <= cx + reach + 1; ++x) {
            double off = std::abs(std::hypot(x + 0.5 - cx, y + 0.5 - cy) - radius);
            double cover = coverage(thickness / 2 - off);
            if (cover > 0)
                blend(x, y, c, opacity * cover);
        }
}

void canvas::disc(double cx, double cy, double radius, colour c, double opacity)
{
    circle(cx, cy, radius / 2, radius, c, opacity);
}

void canvas::text(int x, int y, std::string_view s, colour c, int scale)
{
    for (char ch : s) {
        glyph const* g = find_glyph(ch);
        for (int row = 0; g != nullptr && row < 7; ++row)
            for (int column = 0; column < 5; ++column)
                if ((g->rows[row] >> (4 - column) & 1) != 0)
                    rectangle(x + column * scale, y + row * scale, scale, scale, c);
        x += 6 * scale;
    }
}

void canvas::refuse_foreign(std::string const& path)
{
    if (file old{std::fopen(path.c_str(), "rb")}; old && !written_by_us(old.get()))
        throw std::runtime_error(
            fmt::format("{}: is there already and was not written by this program; move it away or choose another --output", path));
}

void canvas::write(std::string const& path) const
{
    refuse_foreign(path);
    std::string part = path + ".part";
    file to(std::fopen(part.c_str(), "wbe"));
    if (!to)
        throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));

    std::vector<std::uint8_t> bytes;
    bytes.reserve(pixels_.size() * 3);
    for (colour const& p : pixels_)
        bytes.insert(bytes.end(), {byte(p.red), byte(p.green), byte(p.blue)});
    bool written = encode(to.get(), bytes.data(), width_, height_);
    written = std::fclose(to.release()) == 0 && written;
    if (!written || std::rename(part.c_str(), path.c_str()) != 0) {
        int why = errno;
        std::remove(part.c_str());
        throw std::runtime_error(fmt::format("{}: cannot be written: {}", path, std::strerror(why)));
    }
}

} // namespace blast
