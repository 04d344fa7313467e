//! The page: embedded, strict, and without a word from anywhere else.

use crate::server::Server;

#[tokio::test]
async fn the_page_and_its_files_are_served_under_a_strict_policy() {
    let server = Server::new([]).await;
    let page = server.get("/").await;
    assert_eq!((page.status.as_u16(), page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for (path, media_type) in [
        ("/app.css", "text/css; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/api.js", "text/javascript; charset=utf-8"),
    ] {
        let file = server.get(path).await;
        assert_eq!((file.status.as_u16(), file.header("content-type")), (200, Some(media_type)));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    }
}

#[tokio::test]
async fn the_page_has_nothing_that_its_policy_would_block_or_that_reads_text_as_markup() {
    let server = Server::new([]).await;
    let page = server.get("/").await;
    for forbidden in ["style=", "onclick=", "<script>", "<style>", "http-equiv"] {
        assert!(!page.text().contains(forbidden), "{forbidden}");
    }
    for path in ["/app.js", "/api.js"] {
        let script = server.get(path).await;
        for forbidden in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://", ".style."]
        {
            assert!(!script.text().contains(forbidden), "{path}: {forbidden}");
        }
    }
}
