//! Checksums, ciphers and number theory, with published answers: `crc32.cu`, `aes.cu`, `chacha.cu`, `monte-carlo.cu`,
//! `primes.cu`.

use crate::device::{Arg, Random, Shape, assert_same, bytes_of, release};

/// The checksum bit by bit, without a table.
fn crc32(text: &[u8]) -> u32 {
    !text.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 * (crc & 1))
        })
    })
}

#[test]
fn checksums() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    let mut random = Random(601);
    let mut kernels = release("crc32");
    let text = random.many(500, |random| random.u32() as u8);
    let starts = random.many(64, |random| random.u32() % 300);
    let lengths = random.many(64, |random| random.u32() % 200);
    let mut args = [
        Arg::buffer(&text),
        Arg::buffer(&starts),
        Arg::buffer(&lengths),
        Arg::zeros::<u32>(64),
    ];
    kernels.run("crc32", Shape::line(2, 32), &mut args);
    let expected: Vec<u32> = starts
        .iter()
        .zip(&lengths)
        .map(|(start, length)| crc32(&text[*start as usize..][..*length as usize]))
        .collect();
    assert_same(&args[3].values(), &expected, "checksums");
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

#[test]
fn aes_gives_the_published_blocks() {
    // FIPS 197, appendices B and C.1; SP 800-38A, F.1.1.
    let vectors = [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3243f6a8885a308d313198a2e0370734 6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
             30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710",
            "3925841d02dc09fbdc118597196a0b32 3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
             43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
        ),
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "69c4e0d86a7b0430d8cdb78070b4c55a",
        ),
    ];
    let mut kernels = release("aes");
    for (key, plain, expected) in vectors {
        for threads in [32, 100] {
            let plain = hex(plain);
            let mut args = [
                Arg::buffer(&hex(key)),
                Arg::buffer(&plain),
                Arg::zeros::<u8>(plain.len()),
                Arg::value(plain.len() as i32 / 16),
            ];
            kernels.run("aes", Shape::line(1, threads), &mut args);
            assert_same(&args[2].values(), &hex(expected), key);
        }
    }
}

/// One block of the cipher's key stream.
fn chacha_block(key: &[u32], counter: u32, nonce: &[u32]) -> Vec<u32> {
    let start = [
        &[0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574],
        key,
        &[counter],
        nonce,
    ]
    .concat();
    let mut x = start.clone();
    for round in 0..20 {
        for k in 0..4 {
            // Columns in even rounds, diagonals in odd ones.
            let slant = round % 2;
            let at = |row: usize| 4 * row + (k + slant * row) % 4;
            let (a, b, c, d) = (at(0), at(1), at(2), at(3));
            for (first, second, third, turn) in
                [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]
            {
                x[first] = x[first].wrapping_add(x[second]);
                x[third] = (x[third] ^ x[first]).rotate_left(turn);
            }
        }
    }
    x.iter()
        .zip(start)
        .map(|(x, start)| x.wrapping_add(start))
        .collect()
}

#[test]
fn chacha() {
    let mut random = Random(602);
    for name in ["chacha", "chacha.nvrtc"] {
        let mut kernels = release(name);
        let key = random.many(8, Random::u32);
        let nonce = random.many(3, Random::u32);
        let counter = u32::MAX - 20;
        let text = random.many(16 * 64, Random::u32);
        let mut args = [
            Arg::Value(bytes_of(&key)),
            Arg::Value(bytes_of(&nonce)),
            Arg::value(counter),
            Arg::buffer(&text),
            Arg::zeros::<u32>(text.len()),
        ];
        kernels.run("chacha", Shape::line(2, 32), &mut args);
        let expected: Vec<u32> = text
            .chunks(16)
            .zip(0..)
            .flat_map(|(text, i)| {
                let stream = chacha_block(&key, counter.wrapping_add(i), &nonce);
                text.iter()
                    .zip(stream)
                    .map(|(text, stream)| text ^ stream)
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_same(&args[4].values(), &expected, name);
    }
}

#[test]
fn chacha_gives_the_published_block() {
    // RFC 8439, 2.3.2: the key stream is what zeros become.
    let mut kernels = release("chacha");
    let key: Vec<u8> = (0..32).collect();
    let mut args = [
        Arg::Value(key),
        Arg::Value(hex("000000090000004a00000000")),
        Arg::value(1u32),
        Arg::zeros::<u32>(16),
        Arg::zeros::<u32>(16),
    ];
    kernels.run("chacha", Shape::line(1, 1), &mut args);
    let expected = [
        0xE4E7_F110,
        0x1559_3BD1,
        0x1FDD_0F50,
        0xC471_20A3,
        0xC7F4_D1C7,
        0x0368_C033,
        0x9AAA_2204,
        0x4E6C_D4C3,
        0x4664_82D2,
        0x09AA_9F07,
        0x05D7_C214,
        0xA202_8BD9,
        0xD19C_12B5,
        0xB94E_16DE,
        0xE883_D0CB,
        0x4E3C_50A2u32,
    ];
    assert_same(&args[4].values(), &expected, "RFC 8439");
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = 0xD251_1F53 * u64::from(counter[0]);
        let second = 0xCD9E_8D57 * u64::from(counter[2]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    counter
}

#[test]
fn monte_carlo() {
    // The generator's own known answer.
    assert_eq!(
        philox([0; 4], [0; 2]),
        [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]
    );
    let mut random = Random(603);
    let mut kernels = release("monte-carlo.nvrtc");
    let (seed, rounds, shape) = (random.u64(), 20i32, Shape::line(2, 100));
    let mut args = [
        Arg::value(seed),
        Arg::value(rounds),
        Arg::zeros::<u32>(4 * shape.threads()),
        Arg::zeros::<u64>(1),
    ];
    kernels.run("monte_carlo", shape, &mut args);
    let (mut last, mut inside) = (Vec::new(), 0u64);
    for i in 0..shape.threads() as u32 {
        for k in 0..rounds {
            let bits = philox(
                [k.cast_unsigned(), i, 7, 0],
                [seed as u32, (seed >> 32) as u32],
            );
            let squares = bits.map(|bits| u64::from(bits >> 8) * u64::from(bits >> 8));
            inside += u64::from(squares[0] + squares[1] < 1 << 48)
                + u64::from(squares[2] + squares[3] < 1 << 48);
            if k + 1 == rounds {
                last.extend(bits);
            }
        }
    }
    assert_same(&args[2].values(), &last, "last");
    assert_same(&args[3].values(), &[inside], "inside");
}

#[test]
fn primes() {
    let mut random = Random(604);
    let mut kernels = release("primes");
    // Large primes, squares and products of primes near 2^32, and numbers that pass for primes with weaker tests.
    let mut numbers = vec![
        18_446_744_073_709_551_557,
        2_305_843_009_213_693_951,
        4_294_967_291,
        4_294_967_291 * 4_294_967_291,
        4_294_967_291 * 4_294_967_279,
        561,
        41_041,
        825_265,
        3_215_031_751,
        3_825_123_056_546_413_051,
        u64::MAX,
    ];
    let mut expected = vec![1u8, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    for n in (0..40).chain(random.many(77, |random| u64::from(random.u32() >> 8))) {
        numbers.push(n);
        let divisor = (2..)
            .take_while(|d| d * d <= n)
            .find(|d| n.is_multiple_of(*d));
        expected.push(u8::from(n > 1 && divisor.is_none()));
    }
    let mut args = [Arg::buffer(&numbers), Arg::zeros::<u8>(numbers.len())];
    kernels.run(
        "primes",
        Shape::line(2, numbers.len() as u32 / 2),
        &mut args,
    );
    assert_same(&args[1].values(), &expected, "primes");
}

#[test]
fn divisors() {
    let mut random = Random(605);
    let mut kernels = release("primes");
    let common = random.many(90, |random| random.u64() >> 40 << (random.u32() % 12));
    let a: Vec<u64> = common
        .iter()
        .map(|common| common * (random.u64() >> 50))
        .collect();
    let b: Vec<u64> = common
        .iter()
        .map(|common| common * (random.u64() >> 52))
        .collect();
    let mut args = [Arg::buffer(&a), Arg::buffer(&b), Arg::zeros::<u64>(90)];
    kernels.run("divisors", Shape::line(1, 90), &mut args);
    let expected: Vec<u64> = a
        .iter()
        .zip(&b)
        .map(|(&a, &b)| {
            let (mut a, mut b) = (a, b);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        })
        .collect();
    assert_same(&args[2].values(), &expected, "divisors");
}
