use colloquy_models::install::*;
struct P;
impl Progress for P {
    fn begin(&mut self, w: &str, u: Unit, t: Option<u64>) {
        eprintln!("begin {w} {u:?} {t:?}");
    }
    fn advance(&mut self, d: u64, t: Option<u64>) {
        if d % 50_000_000 < 1_100_000 {
            eprintln!("  {d} {t:?}");
        }
    }
    fn end(&mut self) {
        eprintln!("end");
    }
}
#[test]
fn adhoc() {
    let f = Folders { cache: "/tmp/ic/cache".into(), data: "/tmp/ic/data".into() };
    eprintln!("{:?}", install_default_model(&f, &mut P).map_err(|e| e.to_string()));
    eprintln!("{:?}", install_engine(&f, &mut P).map_err(|e| e.to_string()));
    eprintln!("{:?}", install_engine(&f, &mut P).map_err(|e| e.to_string()));
}
