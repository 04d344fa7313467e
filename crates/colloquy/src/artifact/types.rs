//! Which types of artifacts a program knows, for reading what another one stored (reference
//! § 10.8).

use std::{any::TypeId, collections::BTreeMap, sync::Arc};

use colloquy_core::{
    artifact::{self as stored, LIST_ALIAS, nearest},
    schema::{Descriptor, Shape},
};

use super::{Artifact, Held};
use crate::tool::{DescribeError, describe};

/// The types of artifacts that a program knows, by alias.
#[derive(Debug, Clone, Default)]
pub struct ArtifactTypes {
    known: BTreeMap<&'static str, Known>,
}

#[derive(Debug, Clone)]
struct Known {
    type_id: TypeId,
    content: Arc<Descriptor>,
}

/// Why a type cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Another type has the alias.
    #[error("two types have the alias {alias}; give one of them an alias below it, such as {alias}:other")]
    TakenAlias {
        /// The alias.
        alias: &'static str,
    },
    /// The alias is none, which the derive would have said.
    #[error("{alias:?} is no alias: use words of a-z, 0-9 and _ joined by colons, such as link:cite")]
    NoAlias {
        /// What was given.
        alias: &'static str,
    },
    /// Its schema cannot be described.
    #[error(transparent)]
    Undescribed(#[from] DescribeError),
}

impl ArtifactTypes {
    /// Adds a type; adding it again changes nothing. Lists are known without being added.
    pub fn register<T: Artifact>(&mut self) -> Result<(), RegisterError> {
        if let Some(known) = self.known.get(T::ALIAS) {
            let is_same = known.type_id == TypeId::of::<T>();
            return if is_same { Ok(()) } else { Err(RegisterError::TakenAlias { alias: T::ALIAS }) };
        }
        if !stored::is_alias(T::ALIAS) {
            return Err(RegisterError::NoAlias { alias: T::ALIAS });
        }
        let described = describe::<Held<T>>()?;
        let content = if let Shape::Artifact { inner, .. } = &described.root.shape {
            Arc::new(Descriptor { root: (**inner).clone() })
        } else {
            described
        };
        self.known.insert(T::ALIAS, Known { type_id: TypeId::of::<T>(), content });
        Ok(())
    }

    /// Whether artifacts of that alias can be read: as that type, or as the nearest one that it is
    /// a kind of.
    pub fn can_read(&self, alias: &str) -> bool {
        stored::is_a(alias, LIST_ALIAS) || nearest(alias, &self.known).is_some()
    }

    /// How the registry shows them.
    pub fn descriptors(&self) -> stored::Types {
        self.known.iter().map(|(alias, known)| ((*alias).to_owned(), Arc::clone(&known.content))).collect()
    }

    /// What was stored without what no known type can read; each of those is logged. An artifact
    /// that holds one of them stays and cannot be read in full: nothing is shortened in silence.
    pub fn admit(&self, stored: Vec<stored::Artifact>) -> Vec<stored::Artifact> {
        let (admitted, unknown): (Vec<_>, Vec<_>) =
            stored.into_iter().partition(|artifact| self.can_read(&artifact.alias));
        for artifact in unknown {
            tracing::warn!(
                reference = artifact.reference.as_str(),
                "a stored artifact was left out: register its type, or one that its alias begins with"
            );
        }
        admitted
    }
}
