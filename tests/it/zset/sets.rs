//! Sets as inputs.

use crate::check::check3;

#[test]
fn with_sets() {
    check3(
        "SADD s x y q | ZADD a 5 x 6 w | ZUNION 2 a s WITHSCORES | ZINTER 2 a s WITHSCORES | ZINTER 2 s a WEIGHTS 3 1 WITHSCORES | ZDIFF 2 a s WITHSCORES | ZDIFF 2 s a WITHSCORES | ZINTERCARD 2 s a | ZUNION 1 s WEIGHTS 2.5 WITHSCORES | ZINTERSTORE d 1 s | ZRANGE d 0 -1 WITHSCORES | TYPE d | ZUNIONSTORE s 2 s a | TYPE s | ZRANGE s 0 -1 WITHSCORES",
        r#":3 | :2 | ["q" "1" "y" "1" "w" "6" "x" "6"] | ["x" "6"] | ["x" "8"] | ["w" "6"] | ["q" "1" "y" "1"] | :1 | ["q" "2.5" "x" "2.5" "y" "2.5"] | :3 | ["q" "1" "x" "1" "y" "1"] | +zset | :4 | +zset | ["q" "1" "y" "1" "w" "6" "x" "6"]"#,
        r#":3 | :2 | [["q" ,1] ["y" ,1] ["w" ,6] ["x" ,6]] | [["x" ,6]] | [["x" ,8]] | [["w" ,6]] | [["q" ,1] ["y" ,1]] | :1 | [["q" ,2.5] ["x" ,2.5] ["y" ,2.5]] | :3 | [["q" ,1] ["x" ,1] ["y" ,1]] | +zset | :4 | +zset | [["q" ,1] ["y" ,1] ["w" ,6] ["x" ,6]]"#,
    );
}
