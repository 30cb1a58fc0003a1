#pragma once
// A small picture in memory: soft-edged lines, circles and text on it, and PNG files that we recognise as our own.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blast {

struct colour {
    double red, green, blue; ///< 0 to 1, as displayed (sRGB)
};

class canvas {
public:
    canvas(int width, int height, colour background);

    int width() const { return width_; }
    int height() const { return height_; }

    void set(int x, int y, colour c);
    void blend(int x, int y, colour c, double opacity);
    void rectangle(int x, int y, int width, int height, colour c);
    void line(double x0, double y0, double x1, double y1, double thickness, colour c, double opacity = 1);
    void circle(double x, double y, double radius, double thickness, colour c, double opacity = 1);
    void disc(double x, double y, double radius, colour c, double opacity = 1);
    /// Characters of 5 by 7 dots, each `scale` pixels; upper left corner at x, y. What the font lacks is left blank.
    void text(int x, int y, std::string_view s, colour c, int scale = 2);
    static int text_width(std::string_view s, int scale = 2) { return static_cast<int>(s.size()) * 6 * scale; }

    /// Throws std::runtime_error, naming the file, if one of that name is there that `write` did not write.
    static void refuse_foreign(std::string const& path);
    /// Replaces earlier pictures of ours, nothing else. Throws as refuse_foreign does, and when the file cannot be written.
    void write(std::string const& path) const;

private:
    int width_;
    int height_;
    std::vector<colour> pixels_;
};

} // namespace blast
