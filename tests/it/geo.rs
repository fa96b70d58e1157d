//! Places on the earth: GEOADD to GEOSEARCHSTORE.

use crate::check::{check, check3, tarn_only, tarn_only3};

#[test]
fn arity() {
    check("GEOADD k 1 2", "-ERR wrong number of arguments for 'geoadd' command");
    check("GEOADD k 1", "-ERR wrong number of arguments for 'geoadd' command");
    check("GEODIST k a", "-ERR wrong number of arguments for 'geodist' command");
    check("GEOHASH", "-ERR wrong number of arguments for 'geohash' command");
    check("GEOPOS", "-ERR wrong number of arguments for 'geopos' command");
    check("GEORADIUS k 1 2 3", "-ERR wrong number of arguments for 'georadius' command");
    check("GEORADIUS_RO k 1 2 3", "-ERR wrong number of arguments for 'georadius_ro' command");
    check("GEORADIUSBYMEMBER k a 1", "-ERR wrong number of arguments for 'georadiusbymember' command");
    check("GEORADIUSBYMEMBER_RO k a 1", "-ERR wrong number of arguments for 'georadiusbymember_ro' command");
    check("GEOSEARCH k FROMMEMBER a BYRADIUS 1", "-ERR wrong number of arguments for 'geosearch' command");
    check(
        "GEOSEARCHSTORE d k FROMMEMBER a BYRADIUS 1",
        "-ERR wrong number of arguments for 'geosearchstore' command",
    );
}

#[test]
fn geoadd() {
    check3(
        "GEOADD k 13.361389 38.115556 Palermo 15.087269 37.502669 Catania | ZSCORE k Palermo | ZRANGE k 0 -1 WITHSCORES | TYPE k",
        r#":2 | "3479099956230698" | ["Palermo" "3479099956230698" "Catania" "3479447370796909"] | +zset"#,
        r#":2 | ,3479099956230698 | [["Palermo" ,3479099956230698] ["Catania" ,3479447370796909]] | +zset"#,
    );
    check3(
        "GEOADD k 1 1 a | GEOADD k 2 2 a 3 3 b | GEOADD k CH 2 2 a 4 4 b | GEOPOS k a b",
        r#":1 | :1 | :1 | [["2.00000256299972534" "2.0000001856465488"] ["4.00000244379043579" "3.99999910393250957"]]"#,
        ":1 | :1 | :1 | [[,2.00000256299972534 ,2.0000001856465488] [,4.00000244379043579 ,3.99999910393250957]]",
    );
    check3(
        "GEOADD k NX 1 1 a | GEOADD k NX 2 2 a 2 2 b | GEOADD k XX 3 3 a 3 3 c | GEOADD k XX CH 4 4 a 4 4 c | GEOADD k nx ch 5 5 d | ZRANGE k 0 -1 WITHSCORES",
        r#":1 | :1 | :0 | :1 | :1 | ["b" "3378191666521995" "a" "3379667504504364" "d" "3379881761160527"]"#,
        r#":1 | :1 | :0 | :1 | :1 | [["b" ,3378191666521995] ["a" ,3379667504504364] ["d" ,3379881761160527]]"#,
    );
    check("GEOADD k NX XX 1 1 a", "-ERR syntax error");
    check("GEOADD k NX CH XX 1 1 a", "-ERR syntax error");
    check("GEOADD k 1 1 a 2", "-ERR syntax error");
    check("GEOADD k 1 1 a 2 2", "-ERR syntax error");
    check("GEOADD k NX NX NX", "-ERR syntax error");
    check("GEOADD k GT 1 1 a", "-ERR syntax error");
    check("GEOADD k INCR 1 1 a", "-ERR syntax error");
    check3(
        "GEOADD k 180 85.05112878 a | ZSCORE k a | GEOPOS k a | GEOHASH k a",
        r#":1 | "13510798882111488" | [["180" "85.0511287799999991"]] | ["bp05b5048p0"]"#,
        r#":1 | ,13510798882111488 | [[,180 ,85.0511287799999991]] | ["bp05b5048p0"]"#,
    );
    check3(
        "GEOADD k -180 -85.05112878 a | ZSCORE k a | GEOPOS k a | GEOHASH k a",
        r#":1 | "0" | [["-179.99999731779098511" "-85.05112751263942528"]] | ["00bh0hbj200"]"#,
        r#":1 | ,0 | [[,-179.99999731779098511 ,-85.05112751263942528]] | ["00bh0hbj200"]"#,
    );
    check("GEOADD k 180.0001 1 a", "-ERR invalid longitude,latitude pair 180.000100,1.000000");
    check("GEOADD k -181 1 a", "-ERR invalid longitude,latitude pair -181.000000,1.000000");
    check("GEOADD k 1 85.05112879 a", "-ERR invalid longitude,latitude pair 1.000000,85.051129");
    check("GEOADD k 1 -85.06 a", "-ERR invalid longitude,latitude pair 1.000000,-85.060000");
    check(
        "GEOADD k 1e300 -1e-300 a",
        "-ERR invalid longitude,latitude pair 1000000000000000052504760255204420248704468581108159154915854115511802457988908195786371375080447864043704443832883878176942523235360430575644792184786706982848387200926575803737830233794788090059368953234970799945081119038967640880074652742780142494579258788820056842838115669472196386865459400540160.000000,-0.000000",
    );
    check("GEOADD k inf 1 a", "-ERR invalid longitude,latitude pair inf,1.000000");
    check("GEOADD k nan 1 a", "-ERR value is not a valid float");
    check("GEOADD k x 1 a", "-ERR value is not a valid float");
    check("GEOADD k 1 y a", "-ERR value is not a valid float");
    check(r#"GEOADD k 1 "" a"#, "-ERR value is not a valid float");
    check("GEOADD k 1 1 a 1 99 b | EXISTS k", "-ERR invalid longitude,latitude pair 1.000000,99.000000 | :0");
    check(
        "LPUSH k x | GEOADD k 1 1 a",
        ":1 | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check3(
        "ZADD k 5 a | GEOADD k 1 1 b | GEOPOS k a b",
        r#":1 | :1 | [["-179.99999731779098511" "-85.05111990847595393"] ["0.99999994039535522" "0.99999945914297683"]]"#,
        ":1 | :1 | [[,-179.99999731779098511 ,-85.05111990847595393] [,0.99999994039535522 ,0.99999945914297683]]",
    );
    check3(
        r#"GEOADD k 0 0 "" | GEOPOS k "" | GEOADD k -0.0 0 "\x00\xff" | GEOPOS k "\x00\xff""#,
        r#":1 | [["0.00000268220901489" "0.00000126736058093"]] | :1 | [["0.00000268220901489" "0.00000126736058093"]]"#,
        ":1 | [[,0.00000268220901489 ,0.00000126736058093]] | :1 | [[,0.00000268220901489 ,0.00000126736058093]]",
    );
    check3(
        "GEOADD k 1 1 a EX | GEOADD k 0x10 1e1 a | GEOPOS k a",
        r#"-ERR syntax error | :1 | [["16.00000172853469849" "10.00000092823272979"]]"#,
        "-ERR syntax error | :1 | [[,16.00000172853469849 ,10.00000092823272979]]",
    );
    check("GEOADD k XX 1 1 a | EXISTS k", ":0 | :0");
}

#[test]
fn geopos_and_geohash() {
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOPOS Sicily Palermo Catania nope | GEOHASH Sicily Palermo Catania nope",
        r#":4 | [["13.36138933897018433" "38.11555639549629859"] ["15.08726745843887329" "37.50266842333162032"] nil[]] | ["sqc8b49rny0" "sqdtr74hyu0" nil]"#,
        r#":4 | [[,13.36138933897018433 ,38.11555639549629859] [,15.08726745843887329 ,37.50266842333162032] nil] | ["sqc8b49rny0" "sqdtr74hyu0" nil]"#,
    );
    check3(
        "GEOPOS k a b | GEOHASH k a b | GEOPOS k | GEOHASH k",
        "[nil[] nil[]] | [nil nil] | [] | []",
        "[nil nil] | [nil nil] | [] | []",
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOPOS Sicily | GEOHASH Sicily",
        ":4 | [] | []",
    );
    check(
        "SET k v | GEOPOS k a | GEOHASH k a",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check(
        "SET k v | GEOPOS k | GEOHASH k",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check3(
        "GEOADD g 0 0 zero 1 1 one -1 -1 minus 0.001 0.001 near 179.9 10 east -179.9 10 west 0 85 north 0 -85 south | GEOPOS g zero one minus near east west north south | GEOHASH g zero one minus near east west north south",
        r#":8 | [["0.00000268220901489" "0.00000126736058093"] ["0.99999994039535522" "0.99999945914297683"] ["-0.99999994039535522" "-0.99999945914297683"] ["0.00100046396255493" "0.00099994749735544"] ["179.89999920129776001" "10.00000092823272979"] ["-179.89999920129776001" "10.00000092823272979"] ["0.00000268220901489" "84.99999965213439168"] ["0.00000268220901489" "-84.99999965213439168"]] | ["s0000000000" "s00twy01mt0" "7zz631zyd60" "s000000tz60" "xczbvsrnjz0" "81b0fk2y4p0" "up0581b0bh0" "h0bh2n0p050"]"#,
        r#":8 | [[,0.00000268220901489 ,0.00000126736058093] [,0.99999994039535522 ,0.99999945914297683] [,-0.99999994039535522 ,-0.99999945914297683] [,0.00100046396255493 ,0.00099994749735544] [,179.89999920129776001 ,10.00000092823272979] [,-179.89999920129776001 ,10.00000092823272979] [,0.00000268220901489 ,84.99999965213439168] [,0.00000268220901489 ,-84.99999965213439168]] | ["s0000000000" "s00twy01mt0" "7zz631zyd60" "s000000tz60" "xczbvsrnjz0" "81b0fk2y4p0" "up0581b0bh0" "h0bh2n0p050"]"#,
    );
    check3(
        "ZADD k -1 a 1.5 b 4503599627370496 c 1e19 d -inf e inf f 9007199254740993 g 18446744073709551615 h -9223372036854775808 i | GEOPOS k a b c d e f g h i | GEOHASH k a b c d e f g h i",
        r#":9 | [["180" "85.0511287799999991"] ["-179.99999731779098511" "-85.05112497791824921"] ["-179.99999731779098511" "85.0511287799999991"] ["180" "85.0511287799999991"] ["180" "-85.05112751263942528"] ["-179.99999731779098511" "-85.05112751263942528"] ["180" "-85.05112751263942528"] ["-179.99999731779098511" "-85.05112751263942528"] ["180" "-85.05112751263942528"]] | ["bp05b5048p0" "00bh0hbj210" "bp05b5048p0" "bp05b5048p0" "00bh0hbj200" "00bh0hbj200" "00bh0hbj200" "00bh0hbj200" "00bh0hbj200"]"#,
        r#":9 | [[,180 ,85.0511287799999991] [,-179.99999731779098511 ,-85.05112497791824921] [,-179.99999731779098511 ,85.0511287799999991] [,180 ,85.0511287799999991] [,180 ,-85.05112751263942528] [,-179.99999731779098511 ,-85.05112751263942528] [,180 ,-85.05112751263942528] [,-179.99999731779098511 ,-85.05112751263942528] [,180 ,-85.05112751263942528]] | ["bp05b5048p0" "00bh0hbj210" "bp05b5048p0" "bp05b5048p0" "00bh0hbj200" "00bh0hbj200" "00bh0hbj200" "00bh0hbj200" "00bh0hbj200"]"#,
    );
}

#[test]
fn geodist() {
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEODIST Sicily Palermo Catania | GEODIST Sicily Palermo Catania m | GEODIST Sicily Palermo Catania KM | GEODIST Sicily Palermo Catania mi | GEODIST Sicily Palermo Catania ft | GEODIST Sicily Palermo Palermo",
        r#":4 | "166274.1516" | "166274.1516" | "166.2742" | "103.3182" | "545518.8700" | "0.0000""#,
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEODIST Sicily Palermo nope | GEODIST Sicily nope Palermo km | GEODIST k a b | GEODIST Sicily Palermo Catania yards | GEODIST Sicily Palermo Catania m m | GEODIST k a b m m | GEODIST k a b yards",
        ":4 | nil | nil | nil | -ERR unsupported unit provided. please use M, KM, FT, MI | -ERR syntax error | -ERR syntax error | -ERR unsupported unit provided. please use M, KM, FT, MI",
    );
    check(
        "SET k v | GEODIST k a b | GEODIST k a b x",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -ERR unsupported unit provided. please use M, KM, FT, MI",
    );
    check(
        "GEOADD g 0 0 zero 1 1 one -1 -1 minus 0.001 0.001 near 179.9 10 east -179.9 10 west 0 85 north 0 -85 south | GEODIST g zero one | GEODIST g east west km | GEODIST g north south km | GEODIST g zero near | GEODIST g minus one ft | GEODIST g north zero mi",
        r#":8 | "157293.3909" | "21.9075" | "18908.4709" | "157.0195" | "1032110.9025" | "5874.6041""#,
    );
    check(
        "ZADD k -1 a 1.5 b 1e19 c | GEODIST k a b | GEODIST k b c | GEODIST k a c km",
        r#":3 | "18919844.3072" | "18919844.3072" | "0.0000""#,
    );
}

#[test]
fn geosearch() {
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC | GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST | GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 400 400 km DESC WITHHASH",
        r#":4 | ["Catania" "Palermo"] | [["Catania" "56.4413" ["15.08726745843887329" "37.50266842333162032"]] ["Palermo" "190.4424" ["13.36138933897018433" "38.11555639549629859"]] ["edge2" "279.7403" ["17.24151045083999634" "38.78813451624225195"]] ["edge1" "279.7405" ["12.7584877610206604" "38.78813451624225195"]]] | [["edge1" :3479273021651468] ["edge2" :3481342659049484] ["Palermo" :3479099956230698] ["Catania" :3479447370796909]]"#,
        r#":4 | ["Catania" "Palermo"] | [["Catania" "56.4413" [,15.08726745843887329 ,37.50266842333162032]] ["Palermo" "190.4424" [,13.36138933897018433 ,38.11555639549629859]] ["edge2" "279.7403" [,17.24151045083999634 ,38.78813451624225195]] ["edge1" "279.7405" [,12.7584877610206604 ,38.78813451624225195]]] | [["edge1" :3479273021651468] ["edge2" :3481342659049484] ["Palermo" :3479099956230698] ["Catania" :3479447370796909]]"#,
    );
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCH Sicily FROMMEMBER Palermo BYRADIUS 200 km | GEOSEARCH Sicily FROMMEMBER Palermo BYRADIUS 200 km WITHDIST | GEOSEARCH Sicily FROMMEMBER Palermo BYRADIUS 0 km WITHDIST WITHHASH WITHCOORD",
        r#":4 | ["Palermo" "edge1" "Catania"] | [["Palermo" "0.0000"] ["edge1" "91.4007"] ["Catania" "166.2742"]] | [["Palermo" "0.0000" :3479099956230698 ["13.36138933897018433" "38.11555639549629859"]]]"#,
        r#":4 | ["Palermo" "edge1" "Catania"] | [["Palermo" "0.0000"] ["edge1" "91.4007"] ["Catania" "166.2742"]] | [["Palermo" "0.0000" :3479099956230698 [,13.36138933897018433 ,38.11555639549629859]]]"#,
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 300 km COUNT 1 | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 300 km COUNT 2 DESC | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 300 km COUNT 2 ANY | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 300 km COUNT 3 ANY ASC WITHDIST | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 300 km COUNT 100",
        r#":4 | ["Catania"] | ["edge1" "edge2"] | ["Palermo" "edge1"] | [["Catania" "56.4413"] ["Palermo" "190.4424"] ["edge1" "279.7405"]] | ["Catania" "Palermo" "edge2" "edge1"]"#,
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 124000 mi WITHDIST | GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 500000 ft WITHDIST | GEOSEARCH Sicily fromlonlat 15 37 byradius inf m | GEOSEARCH Sicily FROMLONLAT 100 0 BYRADIUS 10 km",
        r#":4 | [["Palermo" "118.3357"] ["edge1" "173.8231"] ["Catania" "35.0711"] ["edge2" "173.8230"]] | [["Catania" "185174.7305"]] | ["Palermo" "edge1" "Catania" "edge2"] | []"#,
    );
    check(
        "GEOADD g 0 0 zero 1 1 one -1 -1 minus 0.001 0.001 near 179.9 10 east -179.9 10 west 0 85 north 0 -85 south | GEOSEARCH g FROMLONLAT 0 0 BYRADIUS 200 km | GEOSEARCH g FROMLONLAT 0 0 BYRADIUS 20000 km | GEOSEARCH g FROMLONLAT 180 10 BYRADIUS 50 km ASC WITHDIST | GEOSEARCH g FROMLONLAT -180 10 BYBOX 50 50 km ASC WITHDIST | GEOSEARCH g FROMLONLAT 0 80 BYRADIUS 1000 km WITHDIST | GEOSEARCH g FROMMEMBER south BYBOX 5000 5000 km WITHDIST",
        r#":8 | ["zero" "near" "one" "minus"] | ["zero" "near" "one" "north" "east" "south" "west" "minus"] | [["east" "10.9537"]] | [["east" "10.9537"] ["west" "10.9537"]] | [["north" "556.1315"]] | [["south" "0.0000"]]"#,
    );
    check(
        "GEOADD g 0 0 zero 1 1 one -1 -1 minus 0.001 0.001 near 179.9 10 east -179.9 10 west 0 85 north 0 -85 south | GEOSEARCH g FROMLONLAT 180 85.05112878 BYRADIUS 30000 km | GEOSEARCH g FROMLONLAT 180 85.05112878 BYRADIUS 100 km | GEOSEARCH g FROMLONLAT -180 -85.05112878 BYBOX 1 1 m | GEOSEARCH g FROMLONLAT 0 0 BYBOX 0 0 m WITHCOORD | GEOSEARCH g FROMLONLAT 0 0 BYBOX inf inf m",
        r#":8 | ["zero" "near" "one" "north" "east"] | [] | [] | [] | ["zero" "near" "one" "north" "east" "south" "west" "minus"]"#,
    );
    check(
        "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km | GEOSEARCH k FROMMEMBER x BYRADIUS 200 km",
        "[] | []",
    );
    check(
        "SET k v | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km | GEOSEARCH k a b c d e",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCH Sicily FROMMEMBER nope BYRADIUS 200 km",
        ":4 | -ERR could not decode requested zset member",
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCH Sicily FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 200 km | GEOSEARCH Sicily FROMMEMBER Palermo FROMLONLAT 15 37 BYRADIUS 200 km | GEOSEARCH Sicily FROMMEMBER Palermo FROMMEMBER Catania BYRADIUS 1 km | GEOSEARCH Sicily FROMMEMBER Palermo BYRADIUS 1 km BYBOX 1 1 km | GEOSEARCH Sicily FROMMEMBER Palermo BYBOX 1 1 km BYRADIUS 1 km | GEOSEARCH Sicily FROMMEMBER Palermo BYBOX 1 1 km BYBOX 400 400 km",
        r#":4 | -ERR syntax error | -ERR syntax error | ["Catania"] | -ERR syntax error | -ERR syntax error | ["Palermo" "edge1" "Catania"]"#,
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | geosearch Sicily BYRADIUS 200 km ASC | GEOSEARCH Sicily FROMLONLAT 15 37 ASC WITHDIST | GeoSearch Sicily WITHDIST ASC DESC WITHCOORD WITHHASH",
        ":4 | -ERR wrong number of arguments for 'geosearch' command | -ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH | -ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GeoSearch",
    );
    check(
        "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km COUNT 0 | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km COUNT -1 | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km COUNT x | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km COUNT | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km ANY | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km FOO",
        "-ERR COUNT must be > 0 | -ERR COUNT must be > 0 | -ERR value is not an integer or out of range | -ERR syntax error | -ERR the ANY argument requires COUNT argument | -ERR syntax error",
    );
    check(
        "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS -1 km | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS x km | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 1 yd | GEOSEARCH k FROMLONLAT 15 37 BYBOX -1 1 km | GEOSEARCH k FROMLONLAT 15 37 BYBOX 1 -1 km | GEOSEARCH k FROMLONLAT 15 37 BYBOX x 1 km | GEOSEARCH k FROMLONLAT 15 37 BYBOX 1 x km | GEOSEARCH k FROMLONLAT 15 37 BYBOX 1 1 yd | GEOSEARCH k FROMLONLAT 15 370 BYBOX 1 1 km | GEOSEARCH k FROMLONLAT x 37 BYBOX 1 1 km",
        "-ERR radius cannot be negative | -ERR need numeric radius | -ERR unsupported unit provided. please use M, KM, FT, MI | -ERR height or width cannot be negative | -ERR height or width cannot be negative | -ERR need numeric width | -ERR need numeric height | -ERR unsupported unit provided. please use M, KM, FT, MI | -ERR invalid longitude,latitude pair 15.000000,370.000000 | -ERR value is not a valid float",
    );
    check(
        "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km STORE x | GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 | GEOSEARCH k FROMLONLAT 15 37 BYBOX 200 km",
        "-ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error",
    );
    check(
        "GEOADD k 1 1 b 1 1 a 1 1 c | GEOSEARCH k FROMLONLAT 1 1 BYRADIUS 1 km | GEOSEARCH k FROMLONLAT 1 1 BYRADIUS 1 km ASC | GEOSEARCH k FROMLONLAT 1 1 BYRADIUS 1 km DESC",
        r#":3 | ["a" "b" "c"] | ["a" "b" "c"] | ["a" "b" "c"]"#,
    );
    check(
        "GEOADD k 1 1 a PX | GEOADD k 1 1 a | PEXPIRE k 1 | !time 5 | GEOSEARCH k FROMMEMBER a BYRADIUS 1 km",
        "-ERR syntax error | :1 | :1 | none | []",
    );
}

#[test]
fn geosearchstore() {
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCHSTORE d Sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 3 | GEOSEARCH d FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHCOORD WITHDIST WITHHASH | ZRANGE d 0 -1 WITHSCORES",
        r#":4 | :3 | [["Catania" "56.4413" :3479447370796909 ["15.08726745843887329" "37.50266842333162032"]] ["Palermo" "190.4424" :3479099956230698 ["13.36138933897018433" "38.11555639549629859"]] ["edge2" "279.7403" :3481342659049484 ["17.24151045083999634" "38.78813451624225195"]]] | ["Palermo" "3479099956230698" "Catania" "3479447370796909" "edge2" "3481342659049484"]"#,
        r#":4 | :3 | [["Catania" "56.4413" :3479447370796909 [,15.08726745843887329 ,37.50266842333162032]] ["Palermo" "190.4424" :3479099956230698 [,13.36138933897018433 ,38.11555639549629859]] ["edge2" "279.7403" :3481342659049484 [,17.24151045083999634 ,38.78813451624225195]]] | [["Palermo" ,3479099956230698] ["Catania" ,3479447370796909] ["edge2" ,3481342659049484]]"#,
    );
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCHSTORE d Sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 3 STOREDIST | ZRANGE d 0 -1 WITHSCORES | GEOSEARCHSTORE d Sicily FROMMEMBER Catania STOREDIST BYRADIUS 1000 mi | ZRANGE d 0 -1 WITHSCORES | GEOSEARCHSTORE Sicily Sicily FROMMEMBER Palermo BYRADIUS 100 km | ZRANGE Sicily 0 -1",
        r#":4 | :3 | ["Catania" "56.441257870158204" "Palermo" "190.44242984775784" "edge2" "279.7403417843143"] | :4 | ["Catania" "0" "Palermo" "103.31822459492733" "edge2" "146.97278379021557" "edge1" "154.63540416639131"] | :2 | ["Palermo" "edge1"]"#,
        r#":4 | :3 | [["Catania" ,56.441257870158204] ["Palermo" ,190.44242984775784] ["edge2" ,279.7403417843143]] | :4 | [["Catania" ,0] ["Palermo" ,103.31822459492733] ["edge2" ,146.97278379021557] ["edge1" ,154.63540416639131]] | :2 | ["Palermo" "edge1"]"#,
    );
    check(
        "SET d v | GEOSEARCHSTORE d k FROMLONLAT 15 37 BYRADIUS 200 km | EXISTS d | GEOSEARCHSTORE d k FROMMEMBER x BYRADIUS 200 km",
        "+OK | :0 | :0 | :0",
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | SET d v EX 100 | GEOSEARCHSTORE d Sicily FROMLONLAT 100 37 BYRADIUS 200 km | EXISTS d | SET d v EX 100 | GEOSEARCHSTORE d Sicily FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1 ANY | TTL d | TYPE d",
        ":4 | +OK | :0 | :0 | +OK | :1 | :-1 | +zset",
    );
    check(
        "SET k v | GEOSEARCHSTORE d k FROMLONLAT 15 37 BYRADIUS 200 km",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEOSEARCHSTORE d Sicily FROMLONLAT 15 37 BYRADIUS 200 km WITHDIST | GEOSEARCHSTORE d Sicily FROMLONLAT 15 37 BYRADIUS 200 km STORE x | GEOSEARCHSTORE d Sicily FROMLONLAT 15 37 BYRADIUS 200 km ANY | GEOSEARCHSTORE d Sicily BYRADIUS 200 km ASC DESC | GEOSEARCHSTORE d Sicily FROMMEMBER nope BYRADIUS 200 km",
        ":4 | -ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options | -ERR syntax error | -ERR the ANY argument requires COUNT argument | -ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCHSTORE | -ERR could not decode requested zset member",
    );
}

#[test]
fn georadius() {
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEORADIUS Sicily 15 37 200 km ASC | GEORADIUS Sicily 15 37 200 km WITHDIST WITHCOORD WITHHASH DESC | GEORADIUS Sicily 15 37 300 km COUNT 2 | GEORADIUS Sicily 15 37 300 km COUNT 2 ANY | GEORADIUS_RO Sicily 15 37 200 km ASC",
        r#":4 | ["Catania" "Palermo"] | [["Palermo" "190.4424" :3479099956230698 ["13.36138933897018433" "38.11555639549629859"]] ["Catania" "56.4413" :3479447370796909 ["15.08726745843887329" "37.50266842333162032"]]] | ["Catania" "Palermo"] | ["Palermo" "edge1"] | ["Catania" "Palermo"]"#,
        r#":4 | ["Catania" "Palermo"] | [["Palermo" "190.4424" :3479099956230698 [,13.36138933897018433 ,38.11555639549629859]] ["Catania" "56.4413" :3479447370796909 [,15.08726745843887329 ,37.50266842333162032]]] | ["Catania" "Palermo"] | ["Palermo" "edge1"] | ["Catania" "Palermo"]"#,
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEORADIUSBYMEMBER Sicily Palermo 200 km | GEORADIUSBYMEMBER Sicily Palermo 200 km WITHDIST | GEORADIUSBYMEMBER_RO Sicily Palermo 200 km DESC COUNT 1 | GEORADIUSBYMEMBER Sicily nope 200 km | GEORADIUSBYMEMBER_RO Sicily nope 200 km",
        r#":4 | ["Palermo" "edge1" "Catania"] | [["Palermo" "0.0000"] ["edge1" "91.4007"] ["Catania" "166.2742"]] | ["Catania"] | -ERR could not decode requested zset member | -ERR could not decode requested zset member"#,
    );
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEORADIUS Sicily 15 37 200 km STORE d | ZRANGE d 0 -1 WITHSCORES | GEORADIUS Sicily 15 37 200 km ASC COUNT 1 STOREDIST d | ZRANGE d 0 -1 WITHSCORES | GEORADIUSBYMEMBER Sicily Palermo 200 km STOREDIST d | ZRANGE d 0 -1 WITHSCORES | GEORADIUSBYMEMBER Sicily Palermo 200 km STORE Sicily | ZRANGE Sicily 0 -1 WITHSCORES",
        r#":4 | :2 | ["Palermo" "3479099956230698" "Catania" "3479447370796909"] | :1 | ["Catania" "56.441257870158204"] | :3 | ["Palermo" "0" "edge1" "91.400658605814272" "Catania" "166.27415156960032"] | :3 | ["Palermo" "3479099956230698" "edge1" "3479273021651468" "Catania" "3479447370796909"]"#,
        r#":4 | :2 | [["Palermo" ,3479099956230698] ["Catania" ,3479447370796909]] | :1 | [["Catania" ,56.441257870158204]] | :3 | [["Palermo" ,0] ["edge1" ,91.400658605814272] ["Catania" ,166.27415156960032]] | :3 | [["Palermo" ,3479099956230698] ["edge1" ,3479273021651468] ["Catania" ,3479447370796909]]"#,
    );
    check3(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEORADIUS Sicily 15 37 200 km STORE a STOREDIST b | EXISTS a b | ZRANGE b 0 -1 WITHSCORES | GEORADIUS Sicily 15 37 200 km STOREDIST a STORE c STORE e | EXISTS a c e | ZRANGE e 0 -1 WITHSCORES",
        r#":4 | :2 | :1 | ["Catania" "56.441257870158204" "Palermo" "190.44242984775784"] | :2 | :1 | ["Palermo" "3479099956230698" "Catania" "3479447370796909"]"#,
        r#":4 | :2 | :1 | [["Catania" ,56.441257870158204] ["Palermo" ,190.44242984775784]] | :2 | :1 | [["Palermo" ,3479099956230698] ["Catania" ,3479447370796909]]"#,
    );
    check(
        "GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2 | GEORADIUS Sicily 15 37 200 km STORE d WITHDIST | GEORADIUS Sicily 15 37 200 km STORE | GEORADIUS_RO Sicily 15 37 200 km STORE d | GEORADIUSBYMEMBER_RO Sicily Palermo 200 km STOREDIST d | GEORADIUS Sicily 15 37 200 km BYBOX 1 1 km | GEORADIUS Sicily 15 37 200 km FROMLONLAT 1 1 | GEORADIUS Sicily 15 37 200 km ANY",
        ":4 | -ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR syntax error | -ERR the ANY argument requires COUNT argument",
    );
    check(
        "SET d v | GEORADIUS k 15 37 200 km STORE d | EXISTS d | GEORADIUSBYMEMBER k m 200 km | GEORADIUSBYMEMBER k m x y | GEORADIUSBYMEMBER k m x y STORE d | GEORADIUS k 15 37 x km | GEORADIUS k 15 37 1 y | GEORADIUS k 15 370 1 m | GEORADIUSBYMEMBER k m x y FOO | GEORADIUS_RO k 1 1 -1 m",
        "+OK | :0 | :0 | [] | [] | :0 | -ERR need numeric radius | -ERR unsupported unit provided. please use M, KM, FT, MI | -ERR invalid longitude,latitude pair 15.000000,370.000000 | -ERR syntax error | -ERR radius cannot be negative",
    );
    check(
        "SET k v | GEORADIUS k 15 37 200 km | GEORADIUSBYMEMBER k 15 37 km | GEORADIUS k 15 37 200 km STORE d | GEORADIUS k x x x x",
        "+OK | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value | -WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check(
        "COMMAND GETKEYS GEORADIUS k 1 2 3 km STORE a | COMMAND GETKEYS GEORADIUS k 1 2 3 km | COMMAND GETKEYS GEORADIUSBYMEMBER k m 3 km STOREDIST a | COMMAND GETKEYS GEOSEARCHSTORE a b FROMMEMBER c BYRADIUS 1 m",
        r#"["k" "a"] | ["k"] | ["k" "a"] | ["a" "b"]"#,
    );
}

/// Of Valkey 9.0; the replies are those of Valkey 9.1.
#[test]
fn polygons() {
    const ADD: &str = "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2";
    tarn_only3(
        &format!(
            "{ADD} | GEOSEARCH g BYPOLYGON 4 10 30 20 30 20 40 10 40 | GEOSEARCH g bypolygon 4 10 30 20 30 20 40 10 40 WITHDIST WITHCOORD COUNT 1"
        ),
        r#":4 | ["Palermo" "edge1" "Catania" "edge2"] | [["Catania" "267053.9696" ["15.08726745843887329" "37.50266842333162032"]]]"#,
        r#":4 | ["Palermo" "edge1" "Catania" "edge2"] | [["Catania" "267053.9696" [,15.08726745843887329 ,37.50266842333162032]]]"#,
    );
    tarn_only(
        &format!(
            "{ADD} | GEOSEARCH g BYPOLYGON 3 14 36 18 36 16 40 WITHDIST ASC | GEOSEARCH g BYPOLYGON 4 10 38.115556 20 38.115556 20 40 10 40 | GEOSEARCH g BYPOLYGON 3 14 36 18 36 16 40 BYPOLYGON 3 10 30 20 30 20 40"
        ),
        r#":4 | [["Catania" "82519.7344"]] | ["Palermo" "edge1" "edge2"] | []"#,
    );
    tarn_only3(
        &format!(
            "{ADD} | GEOSEARCHSTORE d g BYPOLYGON 3 14 36 18 36 16 40 STOREDIST | ZRANGE d 0 -1 WITHSCORES"
        ),
        r#":4 | :1 | ["Catania" "82519.734390451747"]"#,
        r#":4 | :1 | [["Catania" ,82519.734390451747]]"#,
    );
    for count in ["2 14 36 18 36", "0 14 36 18 36", "-1 14 36 18 36", "4 14 36 18 36 1 1"] {
        tarn_only(
            &format!("GEOSEARCH g BYPOLYGON {count}"),
            "-ERR GEOSEARCH BYPOLYGON must have at least 3 vertices",
        );
    }
    tarn_only(
        "GEOSEARCH g BYPOLYGON x 14 36 18 36 1 1 | GEOSEARCH g BYPOLYGON 2147483648 1 2 3 4 5 6 | GEOSEARCH g ASC DESC ASC BYPOLYGON 3 | GEOSEARCH g BYPOLYGON 3 14 36 18 36 1 x | GEOSEARCH g BYPOLYGON 3 14 36 18 36 1 99",
        "-ERR invalid number of vertices | -ERR invalid number of vertices | -ERR syntax error | -ERR value is not a valid float | -ERR invalid longitude,latitude pair 1.000000,99.000000",
    );
    const TRIANGLE: &str = "BYPOLYGON 3 14 36 18 36 16 40";
    for (before, behind) in [
        ("", "1"),
        ("FROMLONLAT 1 1", ""),
        ("", "FROMLONLAT 1 1"),
        ("", "FROMMEMBER a"),
        ("", "BYRADIUS 1 km"),
        ("BYRADIUS 1 km", ""),
        ("", "BYBOX 1 1 km"),
        ("", "STOREDIST"),
    ] {
        tarn_only(
            format!("GEOSEARCH g {before} {TRIANGLE} {behind}").replace("  ", " ").trim_end(),
            "-ERR syntax error",
        );
    }
    check("GEORADIUS g 1 1 1 km BYPOLYGON 3 14 36 18 36 16 40", "-ERR syntax error");
}
