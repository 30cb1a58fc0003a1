//! The harness's side of a benchmark program, as bench/harness.hpp: figures, samples, and the lines spoken with bench/conduct.py.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Takes the samples of one turn, nanoseconds per operation.
pub struct Sampler {
    budget: Duration,
    most: usize,
    first: bool,
    begin: Instant,
    pub samples: Vec<f64>,
}

impl Sampler {
    pub fn new(budget: Duration, most: usize, first: bool) -> Self {
        Sampler { budget, most, first, begin: Instant::now(), samples: Vec::new() }
    }

    /// `sample` returns the nanoseconds of one sample; it is called for a while before any is kept.
    pub fn timed(&mut self, mut sample: impl FnMut() -> f64) {
        let begin = Instant::now();
        loop {
            sample();
            if begin.elapsed() >= self.budget / 8 {
                break;
            }
        }
        if !self.first && begin.elapsed() > self.budget {
            self.most = 1;
        }
        self.begin = Instant::now();
        while self.samples.is_empty() || (self.samples.len() < self.most && self.begin.elapsed() < self.budget) {
            self.samples.push(sample());
        }
    }

    /// Samples of `count` operations timed together.
    pub fn batch(&mut self, count: usize, mut operation: impl FnMut()) {
        self.timed(|| {
            let begin = Instant::now();
            for _ in 0..count {
                operation();
            }
            begin.elapsed().as_nanos() as f64 / count as f64
        });
    }
}

pub struct Figure {
    pub name: &'static str,
    pub size: u64,
    pub mode: &'static str,
    pub variant: &'static str,
}

/// A turn returns an error text if the data were not what they must be.
pub type Turn<'a> = Box<dyn FnMut(&mut Sampler) -> Result<(), String> + 'a>;

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[(samples.len() - 1) / 2]
}

/// Without a conductor: every figure once, on the terminal.
pub fn alone(mut figures: Vec<(Figure, Turn)>) -> Result<(), String> {
    for (f, turn) in &mut figures {
        let mut s = Sampler::new(Duration::from_millis(100), 200, true);
        turn(&mut s)?;
        println!("{:<16} {:>10} {:<10} iceoryx2/{:<18} {:>11.4} us", f.name, f.size, f.mode, f.variant, median(s.samples) / 1000.0);
    }
    Ok(())
}

/// With one: answers `turn INDEX BUDGET_NS MOST FIRST` with `samples ...` or `failed TEXT` until the conductor leaves.
pub fn conducted(path: &str, mut figures: Vec<(Figure, Turn)>) -> std::io::Result<()> {
    let mut out = UnixStream::connect(path)?;
    for (f, _) in &figures {
        writeln!(out, "figure {} {} {} iceoryx2 {}", f.name, f.size, f.mode, f.variant)?;
    }
    writeln!(out, "ready")?;
    for line in BufReader::new(out.try_clone()?).lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| words.get(i).and_then(|w| w.parse::<u64>().ok());
        let (Some(&"turn"), Some(index), Some(budget), Some(most), Some(first)) = (words.first(), number(1), number(2), number(3), number(4)) else {
            break;
        };
        let Some((_, turn)) = figures.get_mut(index as usize) else { break };
        let mut s = Sampler::new(Duration::from_nanos(budget), most as usize, first != 0);
        let answer = match turn(&mut s) {
            Ok(()) => s.samples.iter().fold("samples".to_string(), |line, ns| line + &format!(" {ns:.2}")),
            Err(text) => "failed ".to_string() + &text.replace('\n', " "),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}
