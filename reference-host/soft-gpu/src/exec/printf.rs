//! What `printf` prints: format strings as C has them, over arguments in memory.
//!
//! Follows the C standard where that says something, and the GNU library where it leaves the choice (`(null)`, `(nil)`, `-nan`). `%n` stores
//! nothing, and a conversion that C does not know is printed as it stands.

use std::fmt::Write as _;

/// Where format string, arguments and strings come from; an error ends the call.
pub(crate) trait Guest {
    /// Why a read fails.
    type Error;

    /// The `bytes` (1, 4 or 8) bytes at an address, little-endian.
    fn read(&mut self, address: u64, bytes: u32) -> Result<u64, Self::Error>;
}

/// The text of one call, and how many arguments it took.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) text: Vec<u8>,
    pub(crate) arguments: u32,
    /// Bytes of guest memory that were read.
    pub(crate) bytes_read: usize,
    /// Decimals that conversions of floating-point numbers asked for: each takes far longer than a byte of text.
    pub(crate) decimals: usize,
}

/// Longest text of one call; what goes beyond is dropped.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Longest format or string that is looked at.
const MAX_STRING_BYTES: usize = 64 * 1024;

/// Largest field width and precision; larger ones count as this.
const MAX_WIDTH: usize = 4096;

/// Decimals of a floating-point number whose directive names no precision.
const DEFAULT_PRECISION: usize = 6;

/// Formats the string at `format` with the arguments packed at `arguments`, each at a multiple of its size.
pub(crate) fn printf<G: Guest>(
    guest: &mut G,
    format: u64,
    arguments: u64,
) -> Result<Printed, G::Error> {
    let format = string(guest, format)?;
    let mut printer = Printer {
        guest,
        arguments,
        offset: 0,
        printed: Printed {
            bytes_read: format.len(),
            ..Printed::default()
        },
    };
    let mut rest = format.as_slice();
    while let Some((&byte, after)) = rest.split_first() {
        if printer.printed.text.len() >= MAX_TEXT_BYTES {
            break;
        }
        rest = after;
        if byte != b'%' {
            printer.put(&[byte]);
            continue;
        }
        let mut cursor = after;
        let known = match printer.directive(&mut cursor)? {
            Some(directive) => printer.convert(&directive)?,
            None => false,
        };
        if known {
            rest = cursor;
        } else {
            printer.put(b"%");
        }
    }
    printer.printed.text.truncate(MAX_TEXT_BYTES);
    Ok(printer.printed)
}

/// `%[flags][width][.precision][length]conversion`
#[derive(Clone, Copy, Debug, Default)]
struct Directive {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    length: Length,
    conversion: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Length {
    Char,
    Short,
    #[default]
    Int,
    Long,
}

struct Printer<'g, G: Guest> {
    guest: &'g mut G,
    arguments: u64,
    offset: u64,
    printed: Printed,
}

impl<G: Guest> Printer<'_, G> {
    fn put(&mut self, text: &[u8]) {
        self.printed.text.extend_from_slice(text);
    }

    /// The next argument of 4 or 8 bytes.
    fn argument(&mut self, bytes: u32) -> Result<u64, G::Error> {
        let at = self.offset.next_multiple_of(u64::from(bytes));
        self.offset = at.saturating_add(u64::from(bytes));
        self.printed.arguments = self.printed.arguments.saturating_add(1);
        self.guest.read(self.arguments.wrapping_add(at), bytes)
    }

    /// The directive after a `%`, or `None` where the format ends within it.
    fn directive(&mut self, rest: &mut &[u8]) -> Result<Option<Directive>, G::Error> {
        let mut directive = Directive::default();
        while let Some((&flag, after)) = rest.split_first() {
            match flag {
                b'-' => directive.left = true,
                b'+' => directive.plus = true,
                b' ' => directive.space = true,
                b'#' => directive.alternate = true,
                b'0' => directive.zero = true,
                _ => break,
            }
            *rest = after;
        }
        if take(rest, b'*') {
            let width = self.argument(4)? as u32 as i32;
            directive.left |= width < 0;
            directive.width = limited(u64::from(width.unsigned_abs()));
        } else {
            directive.width = number(rest);
        }
        if take(rest, b'.') {
            directive.precision = if take(rest, b'*') {
                let precision = self.argument(4)? as u32 as i32;
                u64::try_from(precision).ok().map(limited)
            } else {
                Some(number(rest))
            };
        }
        directive.length = if take(rest, b'h') {
            if take(rest, b'h') {
                Length::Char
            } else {
                Length::Short
            }
        } else {
            let mut length = Length::Int;
            while rest
                .first()
                .is_some_and(|byte| matches!(byte, b'l' | b'z' | b'j' | b't' | b'L' | b'q'))
            {
                length = Length::Long;
                *rest = rest.get(1..).unwrap_or_default();
            }
            length
        };
        let Some((&conversion, after)) = rest.split_first() else {
            return Ok(None);
        };
        *rest = after;
        directive.conversion = conversion;
        Ok(Some(directive))
    }

    /// Prints one conversion; `false` where there is no such one.
    fn convert(&mut self, directive: &Directive) -> Result<bool, G::Error> {
        match directive.conversion {
            b'%' => self.put(b"%"),
            b'd' | b'i' => {
                let value = self.integer(directive.length)?;
                let value = match directive.length {
                    Length::Char => i64::from(value as i8),
                    Length::Short => i64::from(value as i16),
                    Length::Int => i64::from(value as i32),
                    Length::Long => value.cast_signed(),
                };
                let sign = directive.sign(value < 0);
                let digits = directive.digits(value.unsigned_abs(), 10);
                self.number(directive, sign, &digits, directive.precision.is_none());
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = self.integer(directive.length)?;
                let value = match directive.length {
                    Length::Char => value & 0xFF,
                    Length::Short => value & 0xFFFF,
                    Length::Int => value & 0xFFFF_FFFF,
                    Length::Long => value,
                };
                let (radix, prefix) = match directive.conversion {
                    b'o' => (8, ""),
                    b'x' => (16, "0x"),
                    b'X' => (16, "0X"),
                    _ => (10, ""),
                };
                let mut digits = directive.digits(value, radix);
                let prefix = if directive.alternate && value != 0 {
                    prefix
                } else {
                    ""
                };
                if directive.alternate && radix == 8 && !digits.starts_with('0') {
                    digits.insert(0, '0');
                }
                self.number(directive, prefix, &digits, directive.precision.is_none());
            }
            b'c' => {
                let value = self.argument(4)? as u8;
                self.padded(directive, &[value]);
            }
            b's' => {
                let address = self.argument(8)?;
                let mut text = if address == 0 {
                    b"(null)".to_vec()
                } else {
                    let longest = directive.precision.unwrap_or(MAX_STRING_BYTES);
                    string_of(self.guest, address, longest.min(MAX_STRING_BYTES))?
                };
                self.printed.bytes_read = self.printed.bytes_read.saturating_add(text.len());
                text.truncate(directive.precision.unwrap_or(usize::MAX));
                self.padded(directive, &text);
            }
            b'p' => {
                let address = self.argument(8)?;
                if address == 0 {
                    self.padded(directive, b"(nil)");
                } else {
                    self.number(directive, "0x", &format!("{address:x}"), false);
                }
            }
            b'n' => drop(self.argument(8)?),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(self.argument(8)?);
                let sign = directive.sign(value.is_sign_negative());
                let decimals = directive.precision.unwrap_or(DEFAULT_PRECISION);
                self.printed.decimals = self.printed.decimals.saturating_add(decimals);
                let mut text = directive.float(value.abs());
                let upper = directive.conversion.is_ascii_uppercase();
                if upper {
                    text.make_ascii_uppercase();
                }
                let prefix = match (directive.conversion, upper) {
                    _ if !value.is_finite() => sign.to_owned(),
                    (b'a', _) => format!("{sign}0x"),
                    (b'A', _) => format!("{sign}0X"),
                    _ => sign.to_owned(),
                };
                self.number(directive, &prefix, &text, value.is_finite());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn integer(&mut self, length: Length) -> Result<u64, G::Error> {
        self.argument(if length == Length::Long { 8 } else { 4 })
    }

    /// A number: padded with zeros between prefix and digits where the directive says so and `may_zero` allows it.
    fn number(&mut self, directive: &Directive, prefix: &str, digits: &str, may_zero: bool) {
        let used = prefix.len().saturating_add(digits.len());
        if directive.zero && may_zero && !directive.left {
            let zeros = "0".repeat(directive.width.saturating_sub(used));
            self.put(format!("{prefix}{zeros}{digits}").as_bytes());
        } else {
            self.padded(directive, format!("{prefix}{digits}").as_bytes());
        }
    }

    /// Text in a field of at least the directive's width.
    fn padded(&mut self, directive: &Directive, text: &[u8]) {
        let blanks = " ".repeat(directive.width.saturating_sub(text.len()));
        if !directive.left {
            self.put(blanks.as_bytes());
        }
        self.put(text);
        if directive.left {
            self.put(blanks.as_bytes());
        }
    }
}

impl Directive {
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    /// An integer with as many digits as the precision asks for; zero with a precision of 0 has none.
    fn digits(&self, value: u64, radix: u32) -> String {
        let digits = match radix {
            8 => format!("{value:o}"),
            16 if self.conversion == b'X' => format!("{value:X}"),
            16 => format!("{value:x}"),
            _ => format!("{value}"),
        };
        match self.precision {
            Some(0) if value == 0 => String::new(),
            Some(precision) => "0".repeat(precision.saturating_sub(digits.len())) + &digits,
            None => digits,
        }
    }

    /// A number that is not negative, in lower case and without the `0x` of a hexadecimal one.
    fn float(&self, value: f64) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return "inf".to_owned();
        }
        match self.conversion.to_ascii_lowercase() {
            b'f' => {
                let precision = self.precision.unwrap_or(DEFAULT_PRECISION);
                let text = format!("{value:.precision$}");
                self.with_point(text, precision)
            }
            b'e' => self.scientific(value, self.precision.unwrap_or(DEFAULT_PRECISION)),
            b'g' => self.shortest(value),
            _ => self.hexadecimal(value),
        }
    }

    /// Keeps the point of a number without decimals where `#` asks for it.
    fn with_point(&self, mut text: String, precision: usize) -> String {
        if precision == 0 && self.alternate {
            text.push('.');
        }
        text
    }

    fn scientific(&self, value: f64, precision: usize) -> String {
        let (mantissa, exponent) = split_scientific(value, precision);
        let mantissa = self.with_point(mantissa, precision);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
    }

    /// `%g`: the exponent decides between the two forms, and trailing zeros go.
    fn shortest(&self, value: f64) -> String {
        let digits = self.precision.unwrap_or(DEFAULT_PRECISION).max(1);
        let (_, exponent) = split_scientific(value, digits.saturating_sub(1));
        let scientific = exponent < -4 || usize::try_from(exponent).is_ok_and(|e| e >= digits);
        let (number, tail) = if scientific {
            let text = self.scientific(value, digits.saturating_sub(1));
            match text.split_once('e') {
                Some((number, tail)) => (number.to_owned(), format!("e{tail}")),
                None => (text, String::new()),
            }
        } else {
            let places = i64::try_from(digits).unwrap_or(i64::MAX);
            let places = places.saturating_sub(1).saturating_sub(i64::from(exponent));
            let places = usize::try_from(places).unwrap_or(0);
            let text = format!("{value:.places$}");
            (self.with_point(text, places), String::new())
        };
        let number = if self.alternate || !number.contains('.') {
            number
        } else {
            let shorter = number.trim_end_matches('0');
            shorter.trim_end_matches('.').to_owned()
        };
        number + &tail
    }

    /// `%a` without its `0x`: one digit, the fraction's hexadecimal digits, and a binary exponent.
    fn hexadecimal(&self, value: f64) -> String {
        let bits = value.to_bits();
        let mut fraction = bits & 0xF_FFFF_FFFF_FFFF;
        let biased = i32::try_from(bits >> 52).unwrap_or(0);
        let exponent = match (biased, fraction) {
            (0, 0) => 0,
            (0, _) => -1022,
            _ => biased.saturating_sub(1023),
        };
        let mut whole = u64::from(biased != 0);
        let digits = match self.precision {
            Some(precision) if precision < 13 => {
                // Round to nearest, ties to even, on the digits that stay.
                let dropped =
                    52u32.saturating_sub(u32::try_from(precision).unwrap_or(0).saturating_mul(4));
                let all = whole << 52 | fraction;
                let half = 1u64 << dropped.saturating_sub(1);
                let rest = all & (half << 1).wrapping_sub(1);
                let mut kept = all >> dropped;
                if rest > half || (rest == half && kept & 1 == 1) {
                    kept = kept.saturating_add(1);
                }
                let all = kept << dropped;
                whole = all >> 52;
                fraction = all & 0xF_FFFF_FFFF_FFFF;
                let text = format!("{fraction:013x}");
                text.get(..precision).unwrap_or_default().to_owned()
            }
            Some(precision) => {
                let zeros = "0".repeat(precision.saturating_sub(13));
                format!("{fraction:013x}{zeros}")
            }
            None => format!("{fraction:013x}").trim_end_matches('0').to_owned(),
        };
        let point = if digits.is_empty() && !self.alternate {
            ""
        } else {
            "."
        };
        format!("{whole}{point}{digits}p{exponent:+}")
    }
}

/// `1.50` and `2` of 150, for a precision of 2.
fn split_scientific(value: f64, precision: usize) -> (String, i32) {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

/// A string up to its zero byte.
fn string<G: Guest>(guest: &mut G, address: u64) -> Result<Vec<u8>, G::Error> {
    string_of(guest, address, MAX_STRING_BYTES)
}

/// A string up to its zero byte, or its first `longest` bytes: what lies behind those is not looked at.
pub(crate) fn string_of<G: Guest>(
    guest: &mut G,
    address: u64,
    longest: usize,
) -> Result<Vec<u8>, G::Error> {
    let mut text = Vec::new();
    while text.len() < longest {
        let byte = guest.read(address.wrapping_add(text.len() as u64), 1)? as u8;
        if byte == 0 {
            break;
        }
        text.push(byte);
    }
    Ok(text)
}

fn take(rest: &mut &[u8], byte: u8) -> bool {
    match rest.split_first() {
        Some((&first, after)) if first == byte => {
            *rest = after;
            true
        }
        _ => false,
    }
}

/// The decimal number that comes next, 0 where there is none.
fn number(rest: &mut &[u8]) -> usize {
    let mut value = 0u64;
    while let Some((&digit, after)) = rest.split_first()
        && digit.is_ascii_digit()
    {
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(digit & 0xF));
        *rest = after;
    }
    limited(value)
}

fn limited(value: u64) -> usize {
    usize::try_from(value).unwrap_or(MAX_WIDTH).min(MAX_WIDTH)
}
