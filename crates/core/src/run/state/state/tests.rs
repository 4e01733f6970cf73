use super::*;
use crate::run::format::ErrorCode;
use crate::run::sample::{Sample, any_options};
use crate::run::state::state_hash::StateHasher;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn refused_event_changes_nothing_and_accepted_one_only_what_it_names(
        options in any_options(),
        others in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..60),
    ) {
        let sample = Sample::new(options);
        for (at, other) in others {
            let before = sample.state_after(at.index(sample.events.len()));
            let mut other = sample.events[other.index(sample.events.len())].event();
            // With a valid time and parent, so that the rest of the event is checked.
            (other.time, other.parent) = (before.next_time(), before.next_time().checked_sub(1));
            let mut after = before.clone();
            let mut hasher = StateHasher::of(&before);
            match after.apply_into(&other, &mut hasher) {
                Ok(()) => {
                    prop_assert_eq!(after.next_time(), before.next_time() + 1);
                    prop_assert_eq!(hasher.state_hash(&after), after.hash());
                }
                Err(error) => {
                    prop_assert_eq!(&after, &before, "{}", error);
                    let expected = StateHasher::of(&before);
                    prop_assert_eq!(hasher.sum(), expected.sum());
                    prop_assert_eq!(error.time, Some(before.next_time()));
                }
            }
        }
    }

    #[test]
    fn a_sink_does_not_change_what_happens(options in any_options()) {
        let sample = Sample::new(options);
        let (mut plain, mut told) = (State::new(sample.dag.clone()), State::new(sample.dag.clone()));
        for event in &sample.events {
            plain.apply(&event.event()).unwrap();
            told.apply_into(&event.event(), &mut StateHasher::of(&told.clone())).unwrap();
        }
        prop_assert_eq!(plain, told);
    }

    #[test]
    fn the_load_of_a_worker_is_the_number_of_its_active_tasks(options in any_options()) {
        let sample = Sample::new(options);
        let mut state = State::new(sample.dag.clone());
        for event in &sample.events {
            state.apply(&event.event()).unwrap();
            for worker in state.workers().by_id() {
                let active = state.tasks().iter().filter(|(_, task)| task.active_worker() == Some(worker)).count();
                prop_assert_eq!(state.workers().get(worker).active as usize, active);
            }
            let waiting = state.tasks().iter().filter(|(_, task)| task.status == TaskStatus::Pending).count();
            prop_assert_eq!(state.tasks().pending().count(), waiting);
        }
    }

    #[test]
    fn a_log_with_an_event_left_out_or_repeated_is_refused(options in any_options(), at in any::<prop::sample::Index>()) {
        let sample = Sample::new(options);
        let at = at.index(sample.events.len());
        let mut state = sample.state_after(at);
        if let Some(next) = sample.events.get(at + 1) {
            prop_assert_eq!(state.apply(&next.event()).unwrap_err().code, ErrorCode::TimeGap);
        }
        state.apply(&sample.events[at].event()).unwrap();
        prop_assert_eq!(state.apply(&sample.events[at].event()).unwrap_err().code, ErrorCode::TimeGap);
    }
}
