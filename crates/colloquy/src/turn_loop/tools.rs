//! The calls of one step: all started together, each result durable the moment it is there.
//!
//! No tool is run twice: its run is marked before it starts, and who finds the mark without a
//! result says that it was interrupted. A tool that fails or panics answers with an error.

use std::sync::Arc;

use colloquy_core::{
    block::{ToolCall, ToolResult},
    turn::TurnEvent,
};
use tokio::{task::JoinSet, time::timeout};

use super::{Work, append::store_failed};
use crate::{
    ports::{ToolRun, ToolRunState},
    service::lock_instance,
    stream::StreamEvent,
    tool::{ErasedTool, ToolContext, ToolError, ToolOutput},
};

/// What a tool came to.
struct Ended {
    /// The place of its call in the step.
    at: usize,
    output: Result<ToolOutput, ToolError>,
}

impl Work {
    /// Runs the calls of the last message. Dropped in the middle it ends every tool that runs.
    pub(super) async fn run_tools(&mut self) -> TurnEvent {
        let calls = self.open_calls();
        let mut running = JoinSet::new();
        let mut places = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            match self.find_tool(&call.name) {
                Ok(tool) => {
                    let task = running.spawn(run(at, tool, call.input.clone(), self.context(call)));
                    places.push((task.id(), at));
                }
                Err(unknown) => self.returned(at, call, Err(unknown)),
            }
        }
        while let Some(joined) = running.join_next_with_id().await {
            let ended = match joined {
                Ok((_, ended)) => ended,
                Err(error) => {
                    let at = places.iter().find(|(id, _)| *id == error.id()).map_or(0, |(_, at)| *at);
                    tracing::error!(tool = calls[at].name, "a tool panicked");
                    Ended { at, output: Err(ToolError::Failed("the tool broke down".into())) }
                }
            };
            let call = &calls[ended.at];
            let output = self.take_in(ended.output);
            self.returned(ended.at, call, output);
            if let Err(event) = self.finish_run(ended.at, call).await {
                return event;
            }
        }
        TurnEvent::ToolsReturned
    }

    fn find_tool(&self, name: &str) -> Result<Arc<dyn ErasedTool>, String> {
        let instance = lock_instance(&self.instance);
        instance.tool(name).ok_or_else(|| {
            format!("Unknown tool. The tools that exist are: {}", instance.tool_names().join(", "))
        })
    }

    fn context(&self, call: &ToolCall) -> ToolContext {
        ToolContext {
            principal: self.principal.clone(),
            call_id: call.id.clone(),
            stop: self.running.stop.child_token(),
            instance: Arc::clone(&self.instance),
        }
    }

    /// What the model reads of an output, its artifacts registered.
    fn take_in(&self, output: Result<ToolOutput, ToolError>) -> Result<String, String> {
        match output {
            Ok(ToolOutput { mut value, descriptor }) => {
                let mut instance = lock_instance(&self.instance);
                Ok(instance.take_in(&mut value, Some(&descriptor), self.shared.ids.as_ref()))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Notes the result and tells the reader.
    fn returned(&mut self, at: usize, call: &ToolCall, output: Result<String, String>) {
        let (text, is_error) = match output {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        self.tell([StreamEvent::ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: text.clone(),
            is_error,
        }]);
        self.results[at] = Some(ToolResult { call_id: call.id.clone(), text, is_error });
    }

    /// Makes a result durable, with the artifacts that it may name.
    async fn finish_run(&self, at: usize, call: &ToolCall) -> Result<(), TurnEvent> {
        let artifacts = lock_instance(&self.instance).unsaved();
        let (lease, turn_id) = self.running.owned();
        let result = self.results[at].as_ref();
        let run = ToolRun {
            state: ToolRunState::Finished,
            result: result.map(|result| result.text.clone()),
            is_error: result.is_some_and(|result| result.is_error),
            finished_at: Some(self.shared.clock.now()),
            ..self.run_of(turn_id, call)
        };
        let finished =
            self.shared.store.finish_tool_run(&self.principal, &lease, run, artifacts.clone()).await;
        finished.map_err(store_failed)?;
        lock_instance(&self.instance).saved(&artifacts);
        Ok(())
    }
}

async fn run(at: usize, tool: Arc<dyn ErasedTool>, input: String, context: ToolContext) -> Ended {
    let output = match tool.timeout() {
        Some(limit) => timeout(limit, tool.run(&input, context)).await.unwrap_or_else(|_| {
            Err(ToolError::Failed(format!("no result came within {} seconds", limit.as_secs())))
        }),
        None => tool.run(&input, context).await,
    };
    Ended { at, output }
}
