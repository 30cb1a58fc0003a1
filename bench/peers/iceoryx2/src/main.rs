//! iceoryx2 as a subject of the benchmarks: two pinned processes, both polling.
//!
//!   null_call      8 bytes there, 8 bytes back: publish-subscribe both ways, and request-response
//!   outstanding64  the same with 64 begun before the first answer is awaited, per call
//!   handover       a loaned sample of a size is sent, a word comes back; rewritten: filled in place before (not timed), read by the receiver
//!   argument       a user's array is copied into a loaned sample and sent, a word comes back
//!
//! Usage: bench-peer-iceoryx2 [--conducted SOCKET]   (or TOWLINE_BENCH_CONDUCTOR in the environment)

mod turn;

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;
use turn::{Figure, Sampler, Turn};

type Fallible<T> = Result<T, Box<dyn Error>>;

const WINDOW: usize = 64;
const ARGUMENT_SIZES: [u64; 4] = [64 << 10, 1 << 20, 16 << 20, 256 << 20];
const HANDOVER_SIZES: [u64; 5] = [64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30];
/// What the receiver does with a block: nothing, or read all of it.
const TAKE: u64 = 0;
const READ: u64 = 1;
/// A small message that sends the server to sleep.
const REST: u64 = u64::MAX;

fn pin(n: usize) {
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut all);
        let cores: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(|&c| libc::CPU_ISSET(c, &all)).collect();
        if cores.len() > n {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cores[n], &mut one);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one);
        }
    }
}

fn rewrite(data: &mut [u64], seed: u64) {
    for (i, w) in data.iter_mut().enumerate() {
        *w = seed.wrapping_add(i as u64);
    }
}

fn sum(data: &[u64]) -> u64 {
    data.iter().fold(0, |total, w| total.wrapping_add(*w))
}

fn expected(count: usize, seed: u64) -> u64 {
    let n = count as u64;
    let pairs = if n % 2 == 0 { (n / 2).wrapping_mul(n.wrapping_sub(1)) } else { n.wrapping_mul((n - 1) / 2) };
    n.wrapping_mul(seed).wrapping_add(pairs)
}

/// Of the names of everything that iceoryx2 makes for us.
fn prefix(folder: &str) -> String {
    folder.rsplit('/').next().unwrap_or("bench").to_string() + "_"
}

fn open(folder: &str) -> Fallible<Node<ipc::Service>> {
    set_log_level(LogLevel::Error);
    let mut config = Config::default();
    config.global.set_root_path(&Path::new(folder.as_bytes())?);
    config.global.prefix = FileName::new(prefix(folder).as_bytes())?;
    Ok(NodeBuilder::new().config(&config).create::<ipc::Service>()?)
}

type Small = iceoryx2::service::port_factory::publish_subscribe::PortFactory<ipc::Service, u64, ()>;
type Blocks = iceoryx2::service::port_factory::publish_subscribe::PortFactory<ipc::Service, [u64], u64>;
type Calls = iceoryx2::service::port_factory::request_response::PortFactory<ipc::Service, u64, (), u64, ()>;

fn small(node: &Node<ipc::Service>, name: &str) -> Fallible<Small> {
    Ok(node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<u64>()
        .subscriber_max_buffer_size(WINDOW)
        .enable_safe_overflow(false)
        .open_or_create()?)
}

fn blocks(node: &Node<ipc::Service>, size: u64) -> Fallible<Blocks> {
    Ok(node
        .service_builder(&format!("blocks/{size}").as_str().try_into()?)
        .publish_subscribe::<[u64]>()
        .user_header::<u64>()
        .subscriber_max_buffer_size(1)
        .subscriber_max_borrowed_samples(1)
        .history_size(0)
        .enable_safe_overflow(false)
        .open_or_create()?)
}

fn calls(node: &Node<ipc::Service>) -> Fallible<Calls> {
    Ok(node
        .service_builder(&"calls".try_into()?)
        .request_response::<u64, u64>()
        .max_active_requests_per_client(WINDOW)
        .max_loaned_requests(WINDOW)
        .max_response_buffer_size(1)
        .enable_safe_overflow_for_requests(false)
        .open_or_create()?)
}

/// The second process: answers while a turn goes on, else sleeps in a read of its standard input.
fn serve(folder: &str) -> Fallible<()> {
    pin(1);
    let node = open(folder)?;
    let inbound = small(&node, "there")?.subscriber_builder().create()?;
    let outbound = small(&node, "back")?.publisher_builder().max_loaned_samples(2).create()?;
    let server = calls(&node)?.server_builder().create()?;
    let mut inbound_blocks = Vec::new();
    for size in HANDOVER_SIZES {
        inbound_blocks.push(blocks(&node, size)?.subscriber_builder().create()?);
    }
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        // One word a turn: what to poll. Polling what is not in use would slow down what is.
        match line?.as_str() {
            "small" => loop {
                if let Some(message) = inbound.receive()? {
                    let value = *message;
                    drop(message);
                    if value == REST {
                        break;
                    }
                    outbound.loan_uninit()?.write_payload(value).send()?;
                }
            },
            "calls" => loop {
                if let Some(request) = server.receive()? {
                    request.loan_uninit()?.write_payload(*request).send()?;
                    if *request == REST {
                        break;
                    }
                }
            },
            which => {
                let subscriber = &inbound_blocks[which.parse::<usize>()?];
                loop {
                    if let Some(block) = subscriber.receive()? {
                        let answer = match *block.user_header() {
                            TAKE => block.payload().len() as u64,
                            READ => sum(block.payload()),
                            _ => break,
                        };
                        drop(block);
                        outbound.loan_uninit()?.write_payload(answer).send()?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn receive(from: &Subscriber<ipc::Service, u64, ()>) -> u64 {
    loop {
        if let Some(message) = from.receive().expect("receive") {
            return *message;
        }
    }
}

fn send(to: &Publisher<ipc::Service, u64, ()>, value: u64) {
    to.loan_uninit().expect("loan").write_payload(value).send().expect("send");
}

fn measure(folder: &str, conductor: Option<String>) -> Fallible<()> {
    let node = open(folder)?;
    let there = small(&node, "there")?.publisher_builder().max_loaned_samples(2).create()?;
    let back = small(&node, "back")?.subscriber_builder().create()?;
    let client_factory = calls(&node)?;
    let factories: Vec<Blocks> = HANDOVER_SIZES.iter().map(|&s| blocks(&node, s)).collect::<Fallible<_>>()?;
    let mut server = std::process::Command::new(std::env::current_exe()?)
        .args(["--serve", folder])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    pin(0); // not before: the second process would inherit it
    let mut ready = String::new();
    std::io::BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready)?;
    if ready.trim() != "ready" {
        return Err("the second process did not start".into());
    }
    let wake = RefCell::new(server.stdin.take().unwrap());
    let client = client_factory.client_builder().create()?;
    let count = Cell::new(0u64);
    let next = || {
        count.set(count.get() + 1);
        count.get()
    };
    let rouse = |what: &str| writeln!(wake.borrow_mut(), "{what}").expect("the second process is gone");

    // Publishers of blocks are made when first used and kept: their pages stay warm.
    type Blocked = Publisher<ipc::Service, [u64], u64>;
    let publishers: Vec<RefCell<Option<Blocked>>> = HANDOVER_SIZES.iter().map(|_| RefCell::new(None)).collect();
    let seed = Cell::new(0u64);
    let field = RefCell::new(Vec::<u64>::new());

    let mut figures: Vec<(Figure, Turn)> = Vec::new();
    for (name, window) in [("null_call", 1), ("outstanding64", WINDOW)] {
        let (there, back, client, rouse, next) = (&there, &back, &client, &rouse, &next);
        figures.push((Figure { name, size: 8, mode: "untouched", variant: "publish-subscribe" }, Box::new(move |s| {
            rouse("small");
            let (mut sent, mut got) = (0, 0);
            let per = (100 / window).max(4);
            s.timed(|| {
                let begin = Instant::now();
                for _ in 0..per {
                    for _ in 0..window {
                        sent = next();
                        send(there, sent);
                    }
                    for _ in 0..window {
                        got = receive(back);
                    }
                }
                begin.elapsed().as_nanos() as f64 / (per * window) as f64
            });
            send(there, REST);
            if got == sent { Ok(()) } else { Err("the echo is not what was sent".into()) }
        })));
        figures.push((Figure { name, size: 8, mode: "untouched", variant: "request-response" }, Box::new(move |s| {
            rouse("calls");
            let (mut sent, mut got) = (0, 0);
            let per = (100 / window).max(4);
            let call = |value| client.loan_uninit().expect("loan").write_payload(value).send().expect("send");
            s.timed(|| {
                let begin = Instant::now();
                for _ in 0..per {
                    let mut pending = Vec::with_capacity(window);
                    for _ in 0..window {
                        sent = next();
                        pending.push(call(sent));
                    }
                    for p in pending {
                        got = loop {
                            if let Some(answer) = p.receive().expect("receive") {
                                break *answer;
                            }
                        };
                    }
                }
                begin.elapsed().as_nanos() as f64 / (per * window) as f64
            });
            let rest = call(REST);
            while rest.receive().expect("receive").is_none() {}
            if got == sent { Ok(()) } else { Err("the echo is not what was sent".into()) }
        })));
    }

    for (i, &size) in HANDOVER_SIZES.iter().enumerate() {
        for mode in ["untouched", "rewritten"] {
            for name in ["handover", "argument"] {
                if name == "argument" && !ARGUMENT_SIZES.contains(&size) {
                    continue;
                }
                let (publishers, factories, back, rouse, seed, field) = (&publishers, &factories, &back, &rouse, &seed, &field);
                figures.push((Figure { name, size, mode, variant: "loan" }, Box::new(move |s: &mut Sampler| {
                    let n = (size / 8) as usize;
                    let mut slot = publishers[i].borrow_mut();
                    let publisher = slot.get_or_insert_with(|| {
                        factories[i].publisher_builder().initial_max_slice_len(n).max_loaned_samples(1).create().expect("publisher")
                    });
                    let mut field = field.borrow_mut();
                    if name == "argument" && field.len() < n {
                        field.resize(n, 0);
                    }
                    let rewritten = mode == "rewritten";
                    let what = if rewritten { READ } else { TAKE };
                    let mut good = true;
                    rouse(&i.to_string());
                    // One transfer: what is prepared is not timed, what is returned are the nanoseconds of the rest.
                    let mut once = |what: u64, rewritten: bool| {
                        if rewritten {
                            seed.set(seed.get() + 1);
                            if name == "argument" {
                                rewrite(&mut field[..n], seed.get());
                            }
                        }
                        let mut begin = Instant::now();
                        let mut block = publisher.loan_slice_uninit(n).expect("loan");
                        *block.user_header_mut() = what;
                        let block = if name == "argument" {
                            block.write_from_slice(&field[..n])
                        } else {
                            let mut block = unsafe { block.assume_init() };
                            if rewritten {
                                rewrite(block.payload_mut(), seed.get());
                                begin = Instant::now();
                            }
                            block
                        };
                        block.send().expect("send");
                        let answer = receive(back);
                        let took = begin.elapsed().as_nanos() as f64;
                        good &= answer == if what == READ { expected(n, seed.get()) } else { n as u64 };
                        took
                    };
                    if rewritten {
                        s.timed(|| once(what, true));
                    } else {
                        once(READ, true);
                        s.batch(if name == "handover" { 20 } else if size <= 1 << 20 { 4 } else { 1 }, || {
                            once(what, false);
                        });
                        once(READ, name == "handover");
                    }
                    let mut rest = publisher.loan_slice_uninit(1).expect("loan");
                    *rest.user_header_mut() = REST;
                    rest.write_from_slice(&[0]).send().expect("send");
                    if good { Ok(()) } else { Err("the data did not arrive as they were sent".into()) }
                })));
            }
        }
    }
    match conductor {
        Some(path) => turn::conducted(&path, figures)?,
        None => turn::alone(figures)?,
    }
    drop(wake);
    server.wait()?;
    Ok(())
}

fn main() -> Fallible<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["--serve", folder] => return serve(folder),
        [] | ["--conducted", _] => {}
        _ => {
            eprintln!("usage: bench-peer-iceoryx2 [--conducted SOCKET]");
            std::process::exit(2);
        }
    }
    let conductor = words.get(1).map(|s| s.to_string()).or_else(|| std::env::var("TOWLINE_BENCH_CONDUCTOR").ok());
    let folder = std::env::temp_dir().join(format!("towline-iceoryx2-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = measure(&folder.to_string_lossy(), conductor);
    std::fs::remove_dir_all(&folder)?;
    // A node's management segment outlives the node: nobody else uses this prefix.
    for left in std::fs::read_dir("/dev/shm")?.flatten() {
        if left.file_name().to_string_lossy().starts_with(&prefix(&folder.to_string_lossy())) {
            std::fs::remove_file(left.path())?;
        }
    }
    result
}
