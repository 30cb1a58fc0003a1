#pragma once
// How far the run is: a bar on the terminal if there is one, else a line now and then.

#include <chrono>
#include <string>

namespace blast {

class progress {
public:
    enum class mode { bar, lines, silent };
    /// A bar where this process's terminal can show one (output may come from behind a pipe, so the terminal itself is asked), else lines.
    static mode best_mode();

    explicit progress(mode m);
    ~progress();
    progress(progress const&) = delete;
    progress& operator=(progress const&) = delete;

    /// `part` of the work is done, from 0 to 1; `text` says more. Cheap when called often.
    void show(double part, std::string const& text);
    /// Clears the bar, so that other lines can be printed.
    void clear();

private:
    using clock = std::chrono::steady_clock;

    mode mode_;
    int terminal_ = -1;
    bool drawn_ = false;
    double next_line_ = 0.1;
    clock::time_point start_ = clock::now();
    clock::time_point next_bar_ = start_;
};

} // namespace blast
