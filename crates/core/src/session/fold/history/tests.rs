use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Push,
    Replace,
    Rewind(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Push),
        1 => Just(Step::Replace),
        2 => (0u64..6).prop_map(Step::Rewind),
        1 => Just(Step::Rewind(u64::MAX)),
    ];
    proptest::collection::vec(step, 0..40)
}

fn item(offset: usize) -> ItemRef {
    ItemRef::at(offset as u64, 1)
}

fn effect(steps: &[Step], first: usize) -> HistoryEffect {
    let mut effect = HistoryEffect::default();
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Push => effect.apply(0, Change::Append(item(first + index))),
            Step::Replace => effect.apply(0, Change::Replace(vec![item(first + index)])),
            Step::Rewind(count) => effect.apply(0, Change::Cut { count: *count, before: None }),
        }
    }
    effect
}

/// The same steps applied to a list.
fn model(steps: &[Step]) -> Vec<ItemRef> {
    let mut list = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Push => list.push(item(index)),
            Step::Replace => list = vec![item(index)],
            Step::Rewind(count) => list.truncate(list.len().saturating_sub((*count).min(1 << 40) as usize)),
        }
    }
    list
}

proptest! {
    #[test]
    fn effects_of_parts_combine_to_the_effect_of_the_whole(steps in steps(), cut in 0usize..40) {
        let cut = cut.min(steps.len());
        let mut joined = effect(&steps[..cut], 0);
        let later = effect(&steps[cut..], cut);
        let before = joined.items().len();
        prop_assert_eq!(later.kept_of(before) <= before, true);
        joined.append(later, cut as u64);
        prop_assert_eq!(&joined, &effect(&steps, 0));
        prop_assert_eq!(joined.items(), &model(&steps)[..]);
    }
}
