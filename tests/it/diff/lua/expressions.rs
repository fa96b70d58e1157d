//! Random expressions over the libraries of scripts.

use crate::rng::Rng;

/// So many lines, each a Lua expression whose value is a string.
pub fn grow(rng: &mut Rng, count: usize) -> Vec<String> {
    (0..count).map(|_| line(rng)).collect()
}

/// The same call in three forms: messages of errors tell them apart.
fn line(rng: &mut Rng) -> String {
    let (function, arguments) = match rng.below(10) {
        0..3 => encode(rng),
        3..5 => decode(rng),
        5..7 => msgpack(rng),
        7..9 => packed(rng),
        _ => bits(rng),
    };
    let comma = if arguments.is_empty() { "" } else { ", " };
    // An argument that is a call may fail, which must happen inside of `try`.
    let is_plain = !arguments.contains("code(") && !arguments.contains("pack(");
    // `pcall` itself has room for twenty results.
    let has_few_results = !matches!(function.as_str(), "cmsgpack.unpack" | "cmsgpack.unpack_limit");
    let try_ = if function.starts_with("cmsgpack.unpack") { "sorted" } else { "try" };
    match rng.below(3) {
        0 | 1 if !has_few_results => format!("{try_}(function() return list({function}({arguments})) end)"),
        0 if is_plain => format!("{try_}({function}{comma}{arguments})"),
        0 | 1 => format!("{try_}(function() return {function}({arguments}) end)"),
        _ => format!("{try_}(function() local a, b, c = {function}({arguments}) return a, b, c end)"),
    }
}

type Call = (String, String);

fn call(function: &str, arguments: String) -> Call {
    (function.to_owned(), arguments)
}

// Values.

fn number(rng: &mut Rng) -> String {
    const PLACES: &[f64] = &[
        0.0,
        16.0,
        32.0,
        128.0,
        256.0,
        32768.0,
        65536.0,
        2147483648.0,
        4294967296.0,
        9007199254740992.0,
        9223372036854775808.0,
        18446744073709551616.0,
        1e13,
        1e14,
        1e15,
        1e10,
    ];
    match rng.below(20) {
        0 => "0/0".into(),
        1 => "math.huge".into(),
        2 => "-math.huge".into(),
        3 => rng
            .pick(&[
                "-0.0",
                "0.1",
                "-1.5",
                "1e-7",
                "5e-324",
                "1.7976931348623157e308",
                "123456.789",
                "99999999999999.5",
                "0.5",
                "-0.5",
                "1.25e20",
            ])
            .to_string(),
        4 => double(f64::from_bits(rng.next())),
        5 => double(f64::from(rng.next() as i32) / 1000.0),
        6 => double(f64::from(f32::from_bits(rng.next() as u32))),
        7..12 => double(*rng.pick(PLACES) + rng.between(-2, 2) as f64),
        12..16 => double(-*rng.pick(PLACES) + rng.between(-2, 2) as f64),
        _ => rng.between(-100, 100).to_string(),
    }
}

fn double(value: f64) -> String {
    if value.is_nan() {
        "0/0".into()
    } else if value.is_infinite() {
        "math.huge".into()
    } else {
        format!("{value:e}")
    }
}

fn bytes(rng: &mut Rng, most: usize) -> Vec<u8> {
    let kind = rng.below(4);
    let byte = |rng: &mut Rng| match kind {
        0 => rng.next() as u8,
        1 => *rng.pick(b"\"\\/\0\x08\t\n\x0b\x0c\r\x1b\x1f\x7f\x80\xffa "),
        _ => rng.between(0x20, 0x7e) as u8,
    };
    (0..rng.below(most + 1)).map(|_| byte(rng)).collect()
}

/// A string of Lua's, whatever the bytes.
fn literal(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            0x20..=0x7e => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\{byte:03}")),
        }
    }
    text + "\""
}

fn string(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => format!("fill({})", rng.pick(&[31, 32, 255, 256, 1023, 1024, 2000])),
        1 if rng.percent(2) => format!("fill({})", rng.pick(&[65535, 65536, 100_000])),
        2 => literal(rng.pick(&["12", "0x10", " 7 ", "1e3", "-0", "nan", "true", "null"]).as_bytes()),
        _ => literal(&bytes(rng, 20)),
    }
}

fn scalar(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => "true".into(),
        1 => "false".into(),
        2 => "cjson.null".into(),
        3 if rng.percent(20) => rng.pick(&["nil", "tostring"]).to_string(),
        3..8 => number(rng),
        _ => string(rng),
    }
}

fn key(rng: &mut Rng) -> String {
    match rng.below(8) {
        0 => number(rng).replace("0/0", "7"),
        1..4 => rng.between(-2, 14).to_string(),
        4 if rng.percent(20) => rng.pick(&["true", "false", "cjson.null"]).to_string(),
        // The order of longer ones is not the same: strings of 32 bytes and more are hashed otherwise.
        _ => literal(&bytes(rng, 10)),
    }
}

fn value(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 || rng.percent(50) {
        return scalar(rng);
    }
    match rng.below(12) {
        0 => "{}".into(),
        1..5 => {
            let items: Vec<_> = (0..rng.below(18)).map(|_| value(rng, depth - 1)).collect();
            format!("{{{}}}", items.join(", "))
        }
        5..9 => {
            let items: Vec<_> =
                (0..rng.below(10)).map(|_| format!("[{}] = {}", key(rng), value(rng, depth - 1))).collect();
            format!("{{{}}}", items.join(", "))
        }
        9 => {
            let items: Vec<_> = (0..rng.below(5)).map(|_| scalar(rng)).collect();
            format!("{{{}, [{}] = {}}}", items.join(", "), key(rng), value(rng, depth - 1))
                .replace("{, ", "{")
        }
        10 => match rng.below(4) {
            0 => format!("seq({})", rng.pick(&[15, 16, 17, 300])),
            1 => format!("words({})", rng.pick(&[15, 16, 17, 300])),
            2 if rng.percent(1) => format!("{}({})", rng.pick(&["seq", "words"]), rng.pick(&[65535, 65536])),
            _ => "itself()".into(),
        },
        _ => {
            let deep = *rng.pick(&[2, 4, 14, 15, 16, 17, 18, 50]);
            format!("{}({deep}, {})", rng.pick(&["nested", "under"]), scalar(rng))
        }
    }
}

fn values(rng: &mut Rng, most: usize) -> String {
    let values: Vec<_> = (0..rng.below(most + 1)).map(|_| value(rng, 2)).collect();
    values.join(", ")
}

// cjson.

/// Settings stay for the rest of the script, where others find them.
fn setting(rng: &mut Rng) -> Call {
    let name = *rng.pick(&[
        "encode_sparse_array",
        "encode_max_depth",
        "decode_max_depth",
        "encode_number_precision",
        "encode_keep_buffer",
        "encode_invalid_numbers",
        "decode_invalid_numbers",
    ]);
    // Beyond thousands the message says at which table the stack of Lua ends, and that is not the same.
    let is_depth = name.ends_with("max_depth");
    let argument = |rng: &mut Rng| match rng.below(8) {
        _ if is_depth && rng.percent(80) => rng.between(-1, 1500).to_string(),
        0 if !is_depth => value(rng, 1),
        1 => "nil".into(),
        2..4 => rng.pick(&["true", "false", "\"on\"", "\"off\"", "\"null\""]).to_string(),
        4 if !is_depth => rng
            .pick(&["0", "1", "5", "1000", "2147483647", "2147483648", "-1", "14", "15", "\"3\""])
            .to_string(),
        _ => rng.between(0, 20).to_string(),
    };
    let count =
        if rng.percent(80) { 1 + 2 * usize::from(name == "encode_sparse_array") } else { rng.below(5) };
    let arguments: Vec<_> = (0..count).map(|_| argument(rng)).collect();
    call(&format!("c.{name}"), arguments.join(", "))
}

fn library(rng: &mut Rng) -> &'static str {
    if rng.percent(60) { "cjson" } else { "c" }
}

fn encode(rng: &mut Rng) -> Call {
    let library = library(rng);
    match rng.below(12) {
        0 => setting(rng),
        1 if rng.percent(20) => call(&format!("{library}.encode"), values(rng, 2)),
        2 if rng.percent(20) => {
            let deep = *rng.pick(&[998, 999, 1000, 1001]);
            call(&format!("{library}.encode"), format!("{}({deep}, 1)", rng.pick(&["nested", "under"])))
        }
        3..5 => call(&format!("{library}.decode"), format!("cjson.encode({})", value(rng, 3))),
        _ => call(&format!("{library}.encode"), value(rng, 3)),
    }
}

fn json(rng: &mut Rng, depth: usize) -> Vec<u8> {
    let mut text = space(rng);
    match if depth == 0 { 2 + rng.below(8) } else { rng.below(10) } {
        0 => {
            let items: Vec<_> = (0..rng.below(6)).map(|_| json(rng, depth - 1)).collect();
            text.push(b'[');
            text.extend(items.join(&b','));
            text.push(b']');
        }
        1 => {
            let pairs: Vec<_> = (0..rng.below(6))
                .map(|_| {
                    [space(rng), json_string(rng), space(rng), b":".to_vec(), json(rng, depth - 1)].concat()
                })
                .collect();
            text.push(b'{');
            text.extend(pairs.join(&b','));
            text.push(b'}');
        }
        2..5 => text.extend(json_string(rng)),
        5..8 => text.extend(json_number(rng).bytes()),
        8 => text.extend(*rng.pick(&[&b"true"[..], b"false", b"null"])),
        _ => text.extend(*rng.pick(&[
            &b"nan"[..],
            b"NaN",
            b"inf",
            b"-inf",
            b"Infinity",
            b"-infinity",
            b"-nan",
            b"nan(12)",
            b"+1",
            b"0x1F",
            b"-0x1p4",
            b"007",
            b"-",
            b"+",
            b"1.",
            b".5",
            b"1e",
            b"1e+",
            b"0x",
            b"tru",
            b"nul",
            b"n",
            b"i",
            b"t",
            b"1x",
            b"12345678901234567890",
            b"1e999",
            b"-1e-999",
            b"0.1e1",
            b"1E5",
            b"- 1",
        ])),
    }
    text.extend(space(rng));
    text
}

fn space(rng: &mut Rng) -> Vec<u8> {
    (0..rng.below(12).saturating_sub(9)).map(|_| *rng.pick(b" \t\n\r")).collect()
}

fn json_number(rng: &mut Rng) -> String {
    match rng.below(5) {
        0 => format!("{}", f64::from_bits(rng.next())).to_lowercase(),
        1 => format!("{:e}", f64::from(rng.next() as i32) / 64.0),
        2 => format!("{}", rng.next()),
        3 => format!("{}.{}", rng.between(-999, 999), rng.below(100_000)),
        _ => format!("{}", rng.between(-1000, 1000)),
    }
}

fn json_string(rng: &mut Rng) -> Vec<u8> {
    let mut text = b"\"".to_vec();
    for _ in 0..rng.below(8) {
        match rng.below(8) {
            0 => text.extend(*rng.pick(&[
                &b"\\\""[..],
                b"\\\\",
                b"\\/",
                b"\\b",
                b"\\f",
                b"\\n",
                b"\\r",
                b"\\t",
                b"\\u0041",
                b"\\u0000",
                b"\\u00e9",
                b"\\u20AC",
                b"\\uFFFF",
                b"\\ud83d\\ude00",
                b"\\uD83D\\uDE00",
            ])),
            1 if rng.percent(10) => text.extend(*rng.pick(&[
                &b"\\x"[..],
                b"\\u12",
                b"\\u12G4",
                b"\\ud83d",
                b"\\ude00",
                b"\\ud83d\\u0041",
                b"\\ud83dxx",
                b"\\",
                b"\\\0",
            ])),
            _ => text.extend(bytes(rng, 6).into_iter().filter(|byte| !b"\"\\\0".contains(byte))),
        }
    }
    if rng.percent(2) {
        text.extend([b'y'; 1500]);
    }
    text.push(b'"');
    text
}

/// Bytes left out, put in, exchanged, cut off.
fn damaged(rng: &mut Rng, mut bytes: Vec<u8>, favourites: &[u8]) -> Vec<u8> {
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len() + 1);
        let byte = if rng.percent(70) { *rng.pick(favourites) } else { rng.next() as u8 };
        match rng.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, byte),
            2 if at < bytes.len() => bytes[at] = byte,
            3 if at < bytes.len() => drop(bytes.remove(at)),
            _ => {}
        }
    }
    bytes
}

fn decode(rng: &mut Rng) -> Call {
    let function = format!("{}.decode", library(rng));
    match rng.below(20) {
        0 => setting(rng),
        1 => call(&function, value(rng, 1)),
        2 => {
            let deep = *rng.pick(&[4, 5, 999, 1000, 1001]);
            let (open, close) = *rng.pick(&[("[", "]"), ("{\\\"a\\\":", "}")]);
            call(&function, format!("(\"{open}\"):rep({deep}) .. \"1\" .. (\"{close}\"):rep({deep})"))
        }
        _ => {
            let mut text = json(rng, 3);
            if rng.percent(45) {
                text = damaged(rng, text, b"[]{},:\"\\ 0-+.eEnitfu\0x/");
            }
            call(&function, literal(&text))
        }
    }
}

// cmsgpack.

fn message(rng: &mut Rng, depth: usize) -> Vec<u8> {
    let number = rng.next().to_be_bytes();
    let fixed = |kind: u8, len: usize| [&[kind][..], &number[..len]].concat();
    let text = bytes(rng, 40);
    let len = text.len() as u8;
    match if depth == 0 { rng.below(18) } else { rng.below(24) } {
        0 => vec![rng.next() as u8 & 0x7f],
        1 => vec![rng.next() as u8 | 0xe0],
        2 => vec![0xc0],
        3 => vec![*rng.pick(&[0xc2, 0xc3])],
        4 => fixed(0xca, 4),
        5 => fixed(0xcb, 8),
        6 => fixed(*rng.pick(&[0xcc, 0xd0]), 1),
        7 => fixed(*rng.pick(&[0xcd, 0xd1]), 2),
        8 => fixed(*rng.pick(&[0xce, 0xd2]), 4),
        9 => fixed(*rng.pick(&[0xcf, 0xd3]), 8),
        10 => [&[0xd9, len][..], &text].concat(),
        11 => [&[0xda, 0, len][..], &text].concat(),
        12 => [&[0xdb, 0, 0, 0, len][..], &text].concat(),
        13 if rng.percent(10) => vec![*rng.pick(&[0xc1, 0xc4, 0xc7, 0xd4, 0xd8])],
        13..18 => [&[0xa0 | len.min(31)], &text[..usize::from(len.min(31))]].concat(),
        kind => {
            let count = rng.below(5);
            let is_map = kind % 2 == 0;
            let items = count * (1 + usize::from(is_map));
            let count = count as u8;
            let mut message = match rng.below(3) {
                0 => vec![if is_map { 0x80 } else { 0x90 } | count],
                1 => vec![if is_map { 0xde } else { 0xdc }, 0, count],
                _ => vec![if is_map { 0xdf } else { 0xdd }, 0, 0, 0, count],
            };
            for _ in 0..items {
                message.extend(self::message(rng, depth - 1));
            }
            message
        }
    }
}

fn msgpack(rng: &mut Rng) -> Call {
    match rng.below(10) {
        0..4 => call("cmsgpack.pack", values(rng, 3)),
        4 => call("cmsgpack.unpack", format!("cmsgpack.pack({})", value(rng, 3))),
        5 if rng.percent(20) => {
            let kind = *rng.pick(&["\\145", "\\129\\001", "\\129"]);
            call("cmsgpack.unpack", format!("(\"{kind}\"):rep({}) .. \"\\001\"", rng.pick(&[3, 100, 1500])))
        }
        6 if rng.percent(20) => call(
            "cmsgpack.unpack",
            format!("fill({})", rng.pick(&[100, 7990, 7997, 7998, 7999, 8000, 8001, 9000])),
        ),
        _ => {
            let mut data: Vec<u8> = (0..1 + rng.below(3)).flat_map(|_| message(rng, 3)).collect();
            if rng.percent(30) {
                data =
                    damaged(rng, data, &[0x81, 0x91, 0x82, 0xc0, 0xc1, 0xdc, 0xdf, 0xd9, 0xdb, 0xcb, 0, 1]);
            }
            let data = if rng.percent(96) { literal(&data) } else { value(rng, 1) };
            let small = |rng: &mut Rng| match rng.below(8) {
                0 => value(rng, 1),
                1 => "nil".into(),
                _ => rng.between(-1, 6).to_string(),
            };
            let (first, second) = (small(rng), small(rng));
            match rng.below(6) {
                0 => call("cmsgpack.unpack_one", data),
                1 => call("cmsgpack.unpack_one", format!("{data}, {first}")),
                2 => call("cmsgpack.unpack_limit", format!("{data}, {first}")),
                3 => call("cmsgpack.unpack_limit", format!("{data}, {first}, {second}")),
                4 => call("cmsgpack.unpack", format!("{data}, {first}")),
                _ => call("cmsgpack.unpack", data),
            }
        }
    }
}

// struct.

fn format(rng: &mut Rng) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..rng.below(7) {
        let option = *rng.pick(b"bBhHlLTiIfdxcs<>! iIcs");
        text.push(option);
        let numbered = b"iIc!".contains(&option);
        if numbered && rng.percent(70) || rng.percent(2) {
            let number = match rng.below(10) {
                0 => rng.below(40),
                1 if rng.percent(20) => *rng.pick(&[2147483647, 2147483648, 99999999999]),
                _ => *rng.pick(&[0, 1, 2, 3, 4, 7, 8, 9, 16, 32]),
            };
            text.extend(number.to_string().bytes());
        }
    }
    if rng.percent(4) { damaged(rng, text, b"qz09%\0\xff") } else { text }
}

/// One value for each option that takes one, mostly of the right type.
fn fitting(rng: &mut Rng, format: &[u8]) -> Vec<String> {
    let mut values = Vec::new();
    for option in format {
        let is_text = b"cs".contains(option);
        if is_text || b"bBhHlLTiIfd".contains(option) {
            values.push(match rng.below(20) {
                0 => scalar(rng),
                _ if is_text => literal(&bytes(rng, 20)),
                _ => number(rng),
            });
        }
    }
    if rng.percent(6) {
        values.truncate(rng.below(values.len() + 1));
    }
    values
}

fn packed(rng: &mut Rng) -> Call {
    let format = format(rng);
    let text = if rng.percent(98) { literal(&format) } else { value(rng, 1) };
    match rng.below(10) {
        0..2 => call("struct.size", text),
        2..6 => {
            let mut arguments = vec![text];
            arguments.extend(fitting(rng, &format));
            call("struct.pack", arguments.join(", "))
        }
        _ => {
            let data = literal(&(0..rng.below(60)).map(|_| small_byte(rng)).collect::<Vec<_>>());
            let position = match rng.below(6) {
                0 => format!(", {}", rng.between(-2, 12)),
                1 if rng.percent(30) => format!(", {}", value(rng, 1)),
                _ => String::new(),
            };
            call("struct.unpack", format!("{text}, {data}{position}"))
        }
    }
}

/// Lengths for `c0` are among them.
fn small_byte(rng: &mut Rng) -> u8 {
    if rng.percent(60) { rng.below(4) as u8 } else { rng.next() as u8 }
}

// bit.

fn bits(rng: &mut Rng) -> Call {
    let name = *rng.pick(&[
        "tobit", "tohex", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "bswap",
    ]);
    let argument = |rng: &mut Rng| if rng.percent(95) { number(rng) } else { scalar(rng) };
    let arguments: Vec<_> = (0..rng.below(4)).map(|_| argument(rng)).collect();
    call(&format!("bit.{name}"), arguments.join(", "))
}
