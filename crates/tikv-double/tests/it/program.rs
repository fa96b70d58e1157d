//! The double as a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tikv_client::TransactionClient;

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(flags: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tikv-double"))
            .args(flags.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
        self.line()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_where_it_is_and_does_as_it_is_told() {
    let mut program = Program::start("--stdin --stores 2 --split-at m --seed 5 --region-error 0.1");
    let address = program.line();
    let client = TransactionClient::new(vec![address]).await.unwrap();
    let mut txn = client.begin_optimistic().await.unwrap();
    txn.put("a".to_owned(), "1").await.unwrap();
    txn.put("z".to_owned(), "2").await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!(program.ask("split q"), "ok");
    assert_eq!(program.ask("split q"), "error nothing to do");
    assert_eq!(program.ask("regions").split(' ').count(), 3);
    assert_eq!(program.ask("leader a 2"), "ok");
    assert_eq!(program.ask("leader a"), "2");
    assert!(program.ask("counts").contains("KvPrewrite="));
    assert_eq!(program.ask("rates conflict 0.5 max-delay-ms 10"), "ok");
    assert_eq!(program.ask("fault timeout-after KvCommit 2 1"), "ok");
    assert_eq!(program.ask("fault delay-ms:5 any always"), "ok");
    assert_eq!(program.ask("clear"), "ok");
    assert_eq!(program.ask("advance-ms 5000"), "ok");
    assert_eq!(program.ask("fault sunshine KvCommit"), "error sunshine is no fault");
    assert_eq!(program.ask("sing"), "error not understood; `help` lists the commands");
    for (stop, start) in [("stop-store 1", "start-store 1"), ("stop-pd", "start-pd")] {
        assert_eq!((program.ask(stop).as_str(), program.ask(start).as_str()), ("ok", "ok"));
    }
}

#[test]
fn it_refuses_flags_that_it_does_not_know() {
    let output = Command::new(env!("CARGO_BIN_EXE_tikv-double")).arg("--sing").arg("1").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"--sing: not known"));
}
