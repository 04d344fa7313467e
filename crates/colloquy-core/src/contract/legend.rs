//! The legend of the notation.

/// What the model must know to answer in the `@` notation, put under
/// [`crate::objective::LEGEND_SLOT`]. Without it weak models send the description back.
pub const LEGEND: &str = r#"How the shape of an answer is described

A shape is JSON in which keys that begin with @ describe what is to be written. They are hints for you and never part of your reply.

@type: what stands there. string, integer, number, boolean, date (2024-03-01), date-time (2024-03-01T12:00:00Z), enum, any, array of X, map from string to X, or the name of an object. A name that has no @fields is an object that is described further up.
@description: what it means.
@required: true: it must be there and must not be empty text. Whatever is not marked so may be left out.
@examples: values that could stand there.
@values: the only values that an enum may have, written exactly so.
@fields: the members of an object; for an array or a map, those of each element.

Write an instance: a place with @fields becomes a JSON object with those members, any other place becomes a value of its @type.

The shape
{"@type":"Review","@fields":{"title":{"@type":"string","@required":true},"stars":{"@type":"integer from 1 to 5","@required":true},"mood":{"@type":"enum","@values":["GOOD","BAD"]},"notes":{"@type":"array of Note","@fields":{"text":{"@type":"string","@required":true}}}}}
is answered by, for instance,
{"title":"A quiet place","stars":4,"mood":"GOOD","notes":[{"text":"Clean rooms"},{"text":"Far from the station"}]}"#;
