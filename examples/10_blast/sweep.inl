// The body of a sweep; compiled by sweep_*.cpp, each of which names its function in BLAST_SWEEP before including this.

#include "flux.hpp"
#include "sweep.hpp"

#include <utility>

namespace blast {
namespace {

/// Calls body(i, Number{}) for i = 0 ... n - 1, with packs as long as they fit.
template <class Body>
inline void for_row(int n, Body&& body)
{
    int i = 0;
    for (; i + lanes <= n; i += lanes)
        body(i, pack{});
    for (; i < n; ++i)
        body(i, double{});
}

template <class Number>
inline state<Number> gather(const_fields const& from, std::ptrdiff_t at)
{
    state<Number> s;
    for (int k = 0; k < variables; ++k)
        s[k] = load<Number>(from[k] + at);
    return s;
}

template <class Number>
inline void scatter(state<Number> const& s, fields const& to, std::ptrdiff_t at)
{
    for (int k = 0; k < variables; ++k)
        store(to[k] + at, s[k]);
}

/// Fluxes through `n` faces in a row along x; face i lies between cells base + i and base + i + stride. Returns how many were limited.
template <int N, int T, int S, bool Protect>
long row_of_faces(const_fields const& w, std::ptrdiff_t base, std::ptrdiff_t stride, int n, positivity const& keep, fields const& out)
{
    double worst = 1;
    for_row(n, [&](int i, auto number) {
        using Number = decltype(number);
        state<Number> l, r, wl, wr;
        for (int k = 0; k < variables; ++k) {
            double const* p = w[k] + base + i;
            Number a = load<Number>(p - stride);
            Number b = load<Number>(p);
            Number c = load<Number>(p + stride);
            Number d = load<Number>(p + 2 * stride);
            wl[k] = b;
            wr[k] = c;
            l[k] = b + 0.5 * limited_slope<Number>(b - a, c - b);
            r[k] = c - 0.5 * limited_slope<Number>(c - b, d - c);
        }
        state<Number> f = hllc<N, T, S>(l, r, keep.gamma);
        scatter(f, out, i);
        if constexpr (Protect)
            worst = lesser(worst, least_lane(keep.holds(wl, wr, f)));
    });
    if (worst > 0)
        return 0;
    long limited = 0;
    const_fields const flux{out[0], out[1], out[2], out[3], out[4]};
    for (int i = 0; i < n; ++i) { // the rare case: again, one by one
        primitive l = gather<double>(w, base + i);
        primitive r = gather<double>(w, base + stride + i);
        conserved f = gather<double>(flux, i);
        if (keep.holds(l, r, f) > 0)
            continue;
        scatter(keep.limit<N>(l, r, f), out, i);
        ++limited;
    }
    return limited;
}

/// New state of one row of cells from the fluxes at its faces.
template <bool Second>
void update_row(sweep_job const& job, std::ptrdiff_t at, std::ptrdiff_t at_w, fields const& x, fields const& y0, fields const& y1,
                fields const& z0, fields const& z1, sweep_result& result)
{
    double worst = 1;
    double fastest = 0;
    for_row(job.cells[0], [&](int i, auto number) {
        using Number = decltype(number);
        state<Number> u;
        for (int k = 0; k < variables; ++k) {
            Number change_x = load<Number>(x[k] + i + 1) - load<Number>(x[k] + i);
            Number change_y = load<Number>(y1[k] + i) - load<Number>(y0[k] + i);
            Number change_z = load<Number>(z1[k] + i) - load<Number>(z0[k] + i);
            Number change = job.ratio * ((change_x + change_y) + change_z);
            Number start = load<Number>(job.u[k] + at + i);
            u[k] = Second ? 0.5 * (start + (load<Number>(job.v[k] + at + i) - change)) : start - change;
        }
        state<Number> w = to_primitive(u, job.gamma);
        scatter(u, job.v, at + i);
        scatter(w, job.w_new, at_w + i);
        // Written so that what is not a number fails.
        Number margin = lesser<Number>(w[0] - job.least_density, w[4] - job.least_pressure);
        auto good = margin >= 0;
        worst = lesser(worst, least_lane(good ? spread<Number>(1) : Number{}));
        if constexpr (Second) {
            Number speed = greater(greater(magnitude(w[1]), magnitude(w[2])), magnitude(w[3]));
            fastest = greater(fastest, greatest_lane(speed + root(job.gamma * w[4] / w[0])));
        }
    });
    result.admissible = result.admissible && worst > 0;
    result.fastest = greater(result.fastest, fastest);
}

template <bool Second, bool Protect>
sweep_result sweep(sweep_job const& job, sweep_scratch& scratch)
{
    int const nx = job.cells[0];
    int const ny = job.cells[1];
    int const nz = job.cells[2];
    std::ptrdiff_t const sy = nx + 2 * ghosts;
    std::ptrdiff_t const sz = sy * (ny + 2 * ghosts);
    std::size_t const row = static_cast<std::size_t>(nx + 8);
    std::size_t const plane = row * static_cast<std::size_t>(ny);
    scratch.values.resize(variables * (3 * row + 2 * plane));
    double* next = scratch.values.data();
    auto take = [&](std::size_t size) {
        fields f;
        for (double*& p : f) {
            p = next;
            next += size;
        }
        return f;
    };
    auto shifted = [](fields f, std::ptrdiff_t by) {
        for (double*& p : f)
            p += by;
        return f;
    };
    fields x = take(row);
    fields y_low = take(row);
    fields y_high = take(row);
    fields z_low = take(plane);
    fields z_high = take(plane);

    positivity const keep{6 * job.ratio, job.least_density, job.least_pressure, job.gamma};
    sweep_result result;
    for (int j = 0; j < ny; ++j)
        result.limited +=
            row_of_faces<3, 1, 2, Protect>(job.w, j * sy - sz, sz, nx, keep, shifted(z_low, j * static_cast<std::ptrdiff_t>(row)));
    for (int k = 0; k < nz; ++k) {
        result.limited += row_of_faces<2, 3, 1, Protect>(job.w, k * sz - sy, sy, nx, keep, y_low);
        for (int j = 0; j < ny; ++j) {
            std::ptrdiff_t const at_w = k * sz + j * sy;
            std::ptrdiff_t const at = (static_cast<std::ptrdiff_t>(k) * ny + j) * nx;
            std::ptrdiff_t const at_z = j * static_cast<std::ptrdiff_t>(row);
            result.limited += row_of_faces<1, 2, 3, Protect>(job.w, at_w - 1, 1, nx + 1, keep, x);
            result.limited += row_of_faces<2, 3, 1, Protect>(job.w, at_w, sy, nx, keep, y_high);
            result.limited += row_of_faces<3, 1, 2, Protect>(job.w, at_w, sz, nx, keep, shifted(z_high, at_z));
            update_row<Second>(job, at, at_w, x, y_low, y_high, shifted(z_low, at_z), shifted(z_high, at_z), result);
            std::swap(y_low, y_high);
        }
        std::swap(z_low, z_high);
    }
    return result;
}

} // namespace

sweep_result BLAST_SWEEP(sweep_job const& job, sweep_scratch& scratch)
{
    if (job.protect)
        return job.second ? sweep<true, true>(job, scratch) : sweep<false, true>(job, scratch);
    return job.second ? sweep<true, false>(job, scratch) : sweep<false, false>(job, scratch);
}

} // namespace blast
