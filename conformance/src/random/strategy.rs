//! How operations are drawn: mostly good ones, and every kind of bad one often enough.
//!
//! The simplest alternative comes first everywhere, since that is what a failure shrinks to.

use std::ops::RangeInclusive;

use proptest::prelude::*;
use proptest::strategy::Union;

use crate::model::known;
use crate::model::operation::{
    Action, Args, Entry, From, Length, Operation, Pick, Place, Shape, Size, Text, Twist, Window,
};

/// One operation.
pub(super) fn operation() -> BoxedStrategy<Operation> {
    let instance = weighted([(12, 0..=0u8), (3, 1..=1), (1, 2..=2)]);
    let actions = Union::new_weighted(vec![
        (40, Just(Action::Sync).boxed()),
        (30, Just(Action::LastErrorLen).boxed()),
        (130, size().prop_map(Action::Alloc).boxed()),
        (60, pick().prop_map(Action::Free).boxed()),
        (130, copy_in().boxed()),
        (130, copy_out().boxed()),
        (60, last_error_copy().boxed()),
        (70, poke().boxed()),
        (120, load().boxed()),
        (250, launch().boxed()),
        (8, Just(Action::Grow).boxed()),
        (8, Just(Action::End).boxed()),
        (2, alloc_many().boxed()),
        (1, load_many().boxed()),
    ]);
    (instance, actions)
        .prop_map(|(instance, action)| Operation { instance, action })
        .boxed()
}

/// One operation of those that a sequence starts with, so that there is something to work with.
pub(super) fn opening() -> BoxedStrategy<Operation> {
    let instance = weighted([(8, 0..=0u8), (2, 1..=1)]);
    let last = u8::try_from(known().len() - 1).unwrap_or(0);
    let load = (0..=last)
        .prop_map(seldom_endless)
        .prop_map(|index| Action::Load {
            text: Text::Known(index),
            entry: Entry::Right,
        });
    let alloc = (1..=128u16).prop_map(|bytes| Action::Alloc(Size::Bytes(bytes)));
    (instance, prop_oneof![3 => load, 1 => alloc])
        .prop_map(|(instance, action)| Operation { instance, action })
        .boxed()
}

/// One operation of a sequence that fills a host up: instances hold as much as they may, end, and come again.
pub(super) fn crowd() -> BoxedStrategy<Operation> {
    let actions = prop_oneof![
        5 => Just(Action::AllocMany(4096, Size::Bytes(1))),
        2 => Just(Action::AllocMany(17, Size::Cap(0))),
        5 => Just(Action::End),
        3 => Just(Action::Alloc(Size::Bytes(1))),
    ];
    (0..=2u8, actions)
        .prop_map(|(instance, action)| Operation { instance, action })
        .boxed()
}

/// An endless kernel costs what the host's watchdog allows: seldom is often enough.
fn seldom_endless(index: u8) -> u8 {
    let endless = known()
        .get(usize::from(index))
        .is_some_and(|module| module.entry == "spin");
    if endless { 0 } else { index }
}

fn weighted<const N: usize>(ranges: [(u32, RangeInclusive<u8>); N]) -> Union<BoxedStrategy<u8>> {
    Union::new_weighted(
        ranges
            .into_iter()
            .map(|(weight, range)| (weight, range.boxed()))
            .collect(),
    )
}

fn pick() -> impl Strategy<Value = Pick> {
    let from = prop_oneof![
        30 => Just(From::Live),
        2 => Just(From::Dead),
        2 => Just(From::Foreign),
        2 => Just(From::Ended),
        1 => Just(From::MadeUp),
    ];
    let index = weighted([(1, 0..=0), (3, 0..=7)]);
    let flip = weighted([(30, 0..=0), (1, 1..=5)]);
    (from, index, flip).prop_map(|(from, index, flip)| Pick { from, index, flip })
}

fn wild_number() -> impl Strategy<Value = i32> {
    prop_oneof![
        Just(-1),
        Just(i32::MIN),
        Just(i32::MAX),
        Just(-8),
        Just(65_536),
        any::<i32>(),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        12 => (0..=64u8).prop_map(Place::Slot),
        6 => (0..32_000u16).prop_map(Place::Play),
        3 => Just(Place::EndsAt(0)),
        2 => (-3..=3i8).prop_map(Place::EndsAt),
        1 => wild_number().prop_map(Place::Raw),
    ]
}

fn length() -> impl Strategy<Value = Length> {
    prop_oneof![
        6 => Just(Length::Whole(0)),
        1 => Just(Length::Bytes(0)),
        8 => (0..=80u16).prop_map(Length::Bytes),
        3 => (-2..=2i8).prop_map(Length::Whole),
        1 => (0..=5000u16).prop_map(Length::Bytes),
        1 => wild_number().prop_map(Length::Raw),
    ]
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        30 => (1..=128u16).prop_map(Size::Bytes),
        // Some sizes come often, so that what one instance gave back fits what another asks for.
        10 => prop_oneof![Just(8u16), Just(64)].prop_map(Size::Bytes),
        6 => (1..=u16::MAX).prop_map(Size::Bytes),
        2 => Just(Size::Bytes(0)),
        2 => (-1..=1i8).prop_map(Size::Cap),
        2 => (0..=1i8).prop_map(Size::Rest),
        2 => (0..=64u16, prop_oneof![Just(1), Just(-1), any::<i32>()])
            .prop_map(|(low, high)| Size::High(low, high)),
        1 => Just(Size::Most),
    ]
}

fn copy_in() -> impl Strategy<Value = Action> {
    (pick(), place(), length()).prop_map(|(buffer, from, len)| Action::CopyIn { buffer, from, len })
}

fn copy_out() -> impl Strategy<Value = Action> {
    (pick(), place(), length()).prop_map(|(buffer, to, len)| Action::CopyOut { buffer, to, len })
}

fn last_error_copy() -> impl Strategy<Value = Action> {
    let len = prop_oneof![
        3 => Just(Length::Bytes(600)),
        3 => (0..=40u16).prop_map(Length::Bytes),
        1 => wild_number().prop_map(Length::Raw),
    ];
    (place(), len).prop_map(|(to, len)| Action::LastErrorCopy { to, len })
}

fn poke() -> impl Strategy<Value = Action> {
    let place = prop_oneof![
        8 => (0..=64u8).prop_map(Place::Slot),
        4 => (0..32_000u16).prop_map(Place::Play),
        1 => (0..=8i8).prop_map(|before| Place::EndsAt(-before)),
    ];
    (place, any::<u64>()).prop_map(|(at, value)| Action::Poke { at, value })
}

fn load() -> impl Strategy<Value = Action> {
    let last = u8::try_from(known().len() - 1).unwrap_or(0);
    let text = Union::new_weighted(vec![
        (
            700,
            (0..=last)
                .prop_map(seldom_endless)
                .prop_map(Text::Known)
                .boxed(),
        ),
        (1, (0..=last).prop_map(Text::Known).boxed()),
        (40, (0..=9u8).prop_map(Text::Rejected).boxed()),
        (
            20,
            (0..=last, 1..=40u8)
                .prop_map(|(index, less)| Text::Cut(index, less))
                .boxed(),
        ),
        (
            40,
            (place(), length())
                .prop_map(|(at, len)| Text::Region(at, len))
                .boxed(),
        ),
        (
            10,
            Just(Text::Region(Place::Slot(0), Length::Raw((8 << 20) + 1))).boxed(),
        ),
    ]);
    let entry = prop_oneof![
        40 => Just(Entry::Right),
        1 => (0..=last).prop_map(Entry::Other),
        1 => Just(Entry::Empty),
        2 => Just(Entry::NotText),
        2 => (250..=260u16).prop_map(Entry::Letters),
        2 => (place(), length()).prop_map(|(at, len)| Entry::Region(at, len)),
    ];
    (text, entry).prop_map(|(text, entry)| Action::Load { text, entry })
}

fn shape() -> impl Strategy<Value = Shape> {
    let one = Shape {
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
    };
    let axis = 0..3usize;
    let grid = (
        axis.clone(),
        prop_oneof![Just(0), Just(-1), Just(i32::MIN), Just(65_536)],
    );
    let block = (
        axis,
        prop_oneof![
            Just(0),
            Just(-1),
            Just(64),
            Just(65),
            Just(1024),
            Just(1025),
            Just(i32::MIN)
        ],
    );
    let shared = prop_oneof![
        Just(4),
        Just(1024),
        Just(49_152),
        Just(233_472),
        Just(233_473),
        Just(-1),
        Just(i32::MAX)
    ];
    let with_grid = move |(axis, value): (usize, i32)| {
        let mut shape = one;
        // The first axis may be that long, and then takes that long.
        shape.grid[axis] = if axis == 0 && value > 0 { 7 } else { value };
        shape
    };
    let with_block = move |(axis, value): (usize, i32)| {
        let mut shape = one;
        shape.block[axis] = value;
        shape
    };
    prop_oneof![
        600 => Just(one),
        150 => (1..=3i32, 1..=3i32, 1..=40i32, 1..=3i32).prop_map(move |(x, y, bx, bz)| Shape {
            grid: [x, y, 1],
            block: [bx, 1, bz],
            shared_bytes: 64,
        }),
        60 => grid.prop_map(with_grid),
        60 => block.prop_map(with_block),
        20 => (prop_oneof![Just([32, 32, 1]), Just([32, 33, 1]), Just([1024, 2, 1]), Just([8, 8, 16]), Just([5, 5, 41])])
            .prop_map(move |block| Shape { block, ..one }),
        // More threads than 32 bits count.
        10 => prop_oneof![Just([65_536, 65_536, 1]), Just([1, 65_536, 65_536]), Just([i32::MAX; 3])]
            .prop_map(move |block| Shape { block, ..one }),
        60 => shared.prop_map(move |shared_bytes| Shape { shared_bytes, ..one }),
        1 => Just(Shape { grid: [65_535, 1, 1], ..one }),
    ]
}

fn twist() -> impl Strategy<Value = Twist> {
    prop_oneof![
        60 => Just(Twist::None),
        2 => Just(Twist::Missing),
        2 => (1..=7u8).prop_map(Twist::Extra),
        2 => (1..=8u8).prop_map(Twist::Cut),
        2 => (0..=6u8, prop_oneof![Just(0), Just(8), any::<u8>()])
            .prop_map(|(at, tag)| Twist::Tag(at, tag)),
        2 => (0..=6u8).prop_map(Twist::Width),
        2 => (126..=131u8).prop_map(Twist::Records),
        1 => prop_oneof![Just(4096u16), Just(4097)].prop_map(Twist::Long),
        1 => wild_number().prop_map(Twist::Length),
    ]
}

fn launch() -> impl Strategy<Value = Action> {
    // Windows of one launch are to overlap often.
    let near = prop_oneof![3 => place(), 2 => (0..=24u16).prop_map(Place::Play)];
    let window = (near, prop_oneof![4 => 0..=40i8, 1 => -2..=0i8])
        .prop_map(|(at, more)| Window { at, more })
        .boxed();
    let values = prop_oneof![
        Just(0u64),
        any::<u64>(),
        // Signalling NaNs, negative zeros, extremes, in either half.
        Just(0x7FA0_0001_8000_0000),
        Just(0x7FF4_0000_0000_0001),
        Just(0x8000_0000_0000_0000),
        Just(u64::MAX),
    ];
    let at = prop_oneof![
        12 => Just(None),
        1 => (-2..=2i8).prop_map(|beyond| Some(Place::EndsAt(beyond))),
        1 => (0..=64u8).prop_map(|slot| Some(Place::Slot(slot))),
        1 => wild_number().prop_map(|at| Some(Place::Raw(at))),
    ];
    let args =
        ([window.clone(), window], values, twist(), at).prop_map(|(windows, values, twist, at)| {
            Args {
                windows,
                values,
                twist,
                at,
            }
        });
    (pick(), shape(), args).prop_map(|(kernel, shape, args)| Action::Launch {
        kernel,
        shape,
        args,
    })
}

fn alloc_many() -> impl Strategy<Value = Action> {
    prop_oneof![
        (2..=20u16, 1..=64u16)
            .prop_map(|(count, size)| Action::AllocMany(count, Size::Bytes(size))),
        Just(Action::AllocMany(17, Size::Cap(0))),
        (4095..=4097u16).prop_map(|count| Action::AllocMany(count, Size::Bytes(1))),
    ]
}

fn load_many() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::LoadMany(257)),
        (2..=257u16).prop_map(Action::LoadMany)
    ]
}
