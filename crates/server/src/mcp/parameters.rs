//! Arguments of a tool, with errors that name the field.

use rmcp::{
    ErrorData,
    handler::server::{common::FromContextPart, tool::ToolCallContext},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// Wrapper named as in rmcp, whose macro finds the schema by that name; rmcp's own does not name the wrong
/// field.
pub struct Parameters<T>(pub T);

impl<T: JsonSchema> JsonSchema for Parameters<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<S, T: DeserializeOwned> FromContextPart<ToolCallContext<'_, S>> for Parameters<T> {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        let given = Value::Object(context.arguments.take().unwrap_or_default());
        serde_path_to_error::deserialize(given).map(Self).map_err(|e| {
            let (path, said) = (e.path().to_string(), e.inner().to_string());
            let words = if matches!(path.as_str(), "." | "?") { said } else { format!("{path}: {said}") };
            ErrorData::invalid_params(words, None)
        })
    }
}
