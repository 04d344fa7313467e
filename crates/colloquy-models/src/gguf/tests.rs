use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// Writes a GGUF file by hand.
#[derive(Debug, Clone, Default)]
struct Builder {
    pairs: Vec<u8>,
    n_pairs: u64,
    tensors: Vec<u8>,
    n_tensors: u64,
    data_bytes: usize,
}

impl Builder {
    fn pair(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        put_string(&mut self.pairs, key);
        self.pairs.extend(kind.to_le_bytes());
        self.pairs.extend(value);
        self.n_pairs += 1;
        self
    }

    fn text(self, key: &str, text: &str) -> Self {
        let mut value = Vec::new();
        put_string(&mut value, text);
        self.pair(key, 8, &value)
    }

    fn number(self, key: &str, number: u32) -> Self {
        self.pair(key, 4, &number.to_le_bytes())
    }

    fn float(self, key: &str, number: f32) -> Self {
        self.pair(key, 6, &number.to_le_bytes())
    }

    fn numbers(self, key: &str, numbers: &[i32]) -> Self {
        let mut value = 5_u32.to_le_bytes().to_vec();
        value.extend((numbers.len() as u64).to_le_bytes());
        numbers.iter().for_each(|number| value.extend(number.to_le_bytes()));
        self.pair(key, 9, &value)
    }

    fn texts(self, key: &str, texts: &[&str]) -> Self {
        let mut value = 8_u32.to_le_bytes().to_vec();
        value.extend((texts.len() as u64).to_le_bytes());
        texts.iter().for_each(|text| put_string(&mut value, text));
        self.pair(key, 9, &value)
    }

    fn tensor(mut self, dimensions: &[u64], kind: u32, offset: u64) -> Self {
        put_string(&mut self.tensors, "blk.0.weight");
        self.tensors.extend((dimensions.len() as u32).to_le_bytes());
        dimensions.iter().for_each(|n| self.tensors.extend(n.to_le_bytes()));
        self.tensors.extend(kind.to_le_bytes());
        self.tensors.extend(offset.to_le_bytes());
        self.n_tensors += 1;
        self
    }

    fn data(mut self, n: usize) -> Self {
        self.data_bytes = n;
        self
    }

    fn build(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(self.n_tensors.to_le_bytes());
        file.extend(self.n_pairs.to_le_bytes());
        file.extend(&self.pairs);
        file.extend(&self.tensors);
        file.resize(file.len().next_multiple_of(32) + self.data_bytes, 0);
        file
    }
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn parse_bytes(bytes: &[u8]) -> Result<Header, GgufError> {
    parse(Cursor::new(bytes))
}

/// A small model with everything we read: 64 elements at 4 bits and 8 floats.
fn small_model() -> Builder {
    Builder::default()
        .text("general.architecture", "llama")
        .text("general.name", "Small")
        .number("general.file_type", 15)
        .number("llama.context_length", 8_192)
        .number("llama.block_count", 2)
        .number("llama.embedding_length", 64)
        .number("llama.attention.head_count", 8)
        .number("llama.attention.head_count_kv", 2)
        .float("general.sampling.temp", 0.7)
        .number("general.sampling.top_k", 20)
        .text("tokenizer.chat_template", "{{ '<|im_start|>' }}<extra>\u{fc}")
        .texts(
            "tokenizer.ggml.tokens",
            &[
                "hello",
                "<|im_start|>",
                "<|im_end|>",
                "<extra>",
                "<unused1>",
                " ",
                "\n",
                "x",
                "\u{fc}",
                "<|im_end|>",
            ],
        )
        .numbers("tokenizer.ggml.token_type", &[1, 3, 3, 4, 4, 3, 3, 3, 4, 3])
        .texts("tokenizer.ggml.merges", &["a b", "c d"])
        .tensor(&[32, 2], 2, 0)
        .tensor(&[8], 0, 64)
        .data(64 + 32)
}

#[test]
fn a_header_says_what_the_model_is() {
    let file = small_model().build();
    let expect = Header {
        architecture: Some("llama".into()),
        name: Some("Small".into()),
        context_length: Some(8_192),
        sliding_window: false,
        parameters_billions: 72e-9,
        quantisation: Some("Q4_K_M"),
        chat_template: Some("{{ '<|im_start|>' }}<extra>\u{fc}".into()),
        control_tokens: vec!["<|im_start|>".into(), "<|im_end|>".into(), "<extra>".into()],
        generation_config: Some(r#"{"temperature":0.7,"top_k":20}"#.into()),
        // Two layers of two heads of (8 + 8) numbers of two bytes.
        cache_bytes_per_token: Some(2 * 2 * 16 * 2),
        file_bytes: file.len() as u64,
    };
    assert_eq!(parse_bytes(&file).unwrap(), expect);
}

#[test]
fn heads_may_be_listed_by_layer_and_head_sizes_may_be_named() {
    let file = Builder::default()
        .text("general.architecture", "gemma3")
        .number("gemma3.attention.sliding_window", 512)
        .number("gemma3.attention.head_count", 4)
        .numbers("gemma3.attention.head_count_kv", &[1, 2, 1])
        .number("gemma3.attention.key_length", 256)
        .number("gemma3.attention.value_length", 128)
        .build();
    let header = parse_bytes(&file).unwrap();
    assert!(header.sliding_window);
    assert_eq!(header.cache_bytes_per_token, Some(4 * (256 + 128) * 2));
}

#[test]
fn a_file_that_says_little_is_read_all_the_same() {
    let header = parse_bytes(&Builder::default().build()).unwrap();
    assert_eq!((header.architecture, header.context_length, header.quantisation), (None, None, None));
    assert_eq!((header.generation_config, header.cache_bytes_per_token), (None, None));
    assert!(header.control_tokens.is_empty());
}

#[test]
fn the_length_of_a_value_does_not_matter_to_keys_that_are_not_ours() {
    let nested = {
        let mut value = 9_u32.to_le_bytes().to_vec();
        value.extend(1_u64.to_le_bytes());
        value.extend(0_u32.to_le_bytes());
        value.extend(3_u64.to_le_bytes());
        value.extend([1, 2, 3]);
        value
    };
    let file = small_model()
        .pair("other.nested", 9, &nested)
        .pair("other.flag", 7, &[1])
        .pair("other.double", 12, &f64::NAN.to_le_bytes())
        .text("other.text", &"x".repeat(100_000))
        .text(&"k".repeat(1_000), "a long key")
        .build();
    assert_eq!(parse_bytes(&file).unwrap().name.as_deref(), Some("Small"));
}

#[test]
fn what_is_not_gguf_is_told_apart_from_what_is_cut_short() {
    for (bytes, found) in [(&b""[..], "\"\""), (b"GG", "\"GG\""), (b"PK\x03\x04zip", "\"PK\\x03\\x04\"")] {
        let error = parse_bytes(bytes).unwrap_err();
        assert!(matches!(&error, GgufError::NotGguf { found: start } if start == found), "{error}");
    }
    let file = small_model().build();
    let error = parse_bytes(&file[..file.len() - 1]).unwrap_err();
    let needed = file.len() as u64;
    assert!(matches!(error, GgufError::CutShort { needed: n, found } if n == needed && found == needed - 1));
    assert!(error.to_string().contains(&format!("has {} bytes and needs at least {needed}", needed - 1)));
}

#[test]
fn a_file_cut_anywhere_is_never_taken_for_whole() {
    let file = small_model().build();
    assert!(parse_bytes(&file).is_ok());
    for len in 4..file.len() {
        match parse_bytes(&file[..len]) {
            Err(GgufError::CutShort { needed, found }) => {
                assert!(found == len as u64 && needed > found, "{len}")
            }
            other => panic!("cut at {len}: {other:?}"),
        }
    }
}

#[test]
fn other_versions_and_byte_orders_are_named() {
    let mut file = small_model().build();
    file[4..8].copy_from_slice(&1_u32.to_le_bytes());
    assert!(matches!(parse_bytes(&file), Err(GgufError::Version(1))));
    file[4..8].copy_from_slice(&3_u32.to_be_bytes());
    assert!(matches!(parse_bytes(&file), Err(GgufError::BigEndian)));
    file[4..8].copy_from_slice(&2_u32.to_le_bytes());
    assert!(parse_bytes(&file).is_ok());
}

#[test]
fn lengths_that_no_file_has_are_refused_without_an_allocation() {
    let huge = u64::MAX.to_le_bytes();
    let mut array_of_strings = 8_u32.to_le_bytes().to_vec();
    array_of_strings.extend(huge);
    let mut array_of_numbers = 5_u32.to_le_bytes().to_vec();
    array_of_numbers.extend(huge);
    for (key, kind, value) in [
        ("general.name", 8, huge.to_vec()),
        ("tokenizer.ggml.tokens", 9, array_of_strings),
        ("tokenizer.ggml.token_type", 9, array_of_numbers.clone()),
        ("llama.attention.head_count_kv", 9, array_of_numbers.clone()),
        ("other", 9, array_of_numbers),
        ("other", 99, Vec::new()),
    ] {
        let error = parse_bytes(&Builder::default().pair(key, kind, &value).build()).unwrap_err();
        assert!(matches!(error, GgufError::CutShort { .. } | GgufError::Damaged(_)), "{key}: {error}");
    }
    let many_pairs = Builder { n_pairs: u64::MAX, ..Builder::default() };
    assert!(matches!(parse_bytes(&many_pairs.build()), Err(GgufError::Damaged(_))));
    let many_tensors = Builder { n_tensors: u64::MAX, ..small_model() };
    assert!(matches!(parse_bytes(&many_tensors.build()), Err(GgufError::CutShort { .. })));
    let large_tensor = small_model().tensor(&[u64::MAX, u64::MAX], 0, u64::MAX);
    assert!(matches!(parse_bytes(&large_tensor.build()), Err(GgufError::CutShort { needed: u64::MAX, .. })));
    let five_dimensions = small_model().tensor(&[1; 5], 0, 0);
    assert!(matches!(parse_bytes(&five_dimensions.build()), Err(GgufError::Damaged(_))));
    let odd_alignment = small_model().number("general.alignment", 7);
    assert!(matches!(parse_bytes(&odd_alignment.build()), Err(GgufError::Damaged(_))));
}

#[test]
fn arrays_nested_without_end_are_refused() {
    let mut value = Vec::new();
    for _ in 0..1_000 {
        value.extend(9_u32.to_le_bytes());
        value.extend(1_u64.to_le_bytes());
    }
    let file = Builder::default().pair("other", 9, &value).build();
    assert!(matches!(parse_bytes(&file), Err(GgufError::Damaged(_))));
}

#[test]
fn a_folder_is_no_model() {
    assert!(matches!(read(Path::new("/")), Err(GgufError::NotGguf { .. })));
    assert!(matches!(read(Path::new("/no/such/file.gguf")), Err(GgufError::Io(_))));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(tail in proptest::collection::vec(any::<u8>(), 0..512)) {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(tail);
        let _ = parse_bytes(&file);
    }

    #[test]
    fn a_damaged_byte_makes_an_error_or_another_header_and_never_a_panic(
        at in 0..small_model().build().len(),
        byte in any::<u8>(),
    ) {
        let mut file = small_model().build();
        file[at] = byte;
        let _ = parse_bytes(&file);
    }
}
