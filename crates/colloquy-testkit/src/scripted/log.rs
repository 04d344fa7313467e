//! What scripted models were asked, and what became of each call.

use colloquy::ports::ModelCall;
use tokio::sync::watch;

/// One call that a model was asked to make.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// What it was shown and how it was to sample.
    pub call: ModelCall,
    /// What became of it.
    pub end: CallEnd,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// It is still going on.
    Running,
    /// Its script ended it.
    Ended,
    /// Its script failed it.
    Failed,
    /// The caller dropped it, which is how a stop reaches a model.
    Dropped,
}

/// Every call, oldest first. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct CallLog {
    calls: watch::Sender<Vec<RecordedCall>>,
}

impl Default for CallLog {
    fn default() -> Self {
        Self { calls: watch::Sender::new(Vec::new()) }
    }
}

impl CallLog {
    pub(super) fn begin(&self, call: ModelCall) -> CallGuard {
        let mut index = 0;
        self.calls.send_modify(|calls| {
            index = calls.len();
            calls.push(RecordedCall { call, end: CallEnd::Running });
        });
        CallGuard { log: self.clone(), index }
    }

    pub(super) fn calls(&self) -> Vec<RecordedCall> {
        self.calls.borrow().clone()
    }

    pub(super) async fn wait_until(&self, mut holds: impl FnMut(&[RecordedCall]) -> bool) {
        self.calls.subscribe().wait_for(|calls| holds(calls)).await.expect("BUG: the log owns the sender");
    }
}

/// Lives as long as its call.
#[derive(Debug)]
pub(super) struct CallGuard {
    log: CallLog,
    index: usize,
}

impl CallGuard {
    /// Only the first end of a call counts.
    pub(super) fn end(&self, end: CallEnd) {
        self.log.calls.send_modify(|calls| {
            let recorded = &mut calls[self.index].end;
            if *recorded == CallEnd::Running {
                *recorded = end;
            }
        });
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.end(CallEnd::Dropped);
    }
}
