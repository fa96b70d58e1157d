use super::cover::cells;
use super::grid::{Cell, MAX_LAT, MAX_LON, MAX_STEP};
use super::*;
use crate::keyspace::context::draws;

const PALERMO: Position = Position { lon: 13.361389, lat: 38.115556 };
const CATANIA: Position = Position { lon: 15.087269, lat: 37.502669 };

/// As redis-server 7.0 has them.
#[test]
fn golden_numbers() {
    assert_eq!((PALERMO.score(), CATANIA.score()), (3_479_099_956_230_698.0, 3_479_447_370_796_909.0));
    let stored = Position::of_score(PALERMO.score());
    assert_eq!(stored, Position { lon: 13.361389338970184, lat: 38.1155563954963 });
    assert_eq!(&stored.geohash(), b"sqc8b49rny0");
    let catania = Position::of_score(CATANIA.score());
    assert_eq!(distance_m(stored, catania), 166_274.15156960033);
}

#[test]
fn a_place_comes_back_from_its_score() {
    let mut draws = draws(7).map(|draw| (draw >> 11) as f64 / (1_u64 << 53) as f64);
    for _ in 0..10_000 {
        let (x, y) = (draws.next().unwrap(), draws.next().unwrap());
        let place = Position { lon: (2.0 * x - 1.0) * MAX_LON, lat: (2.0 * y - 1.0) * MAX_LAT };
        let again = Position::of_score(place.score());
        assert!((again.lon - place.lon).abs() < 3e-6 && (again.lat - place.lat).abs() < 2e-6, "{place:?}");
        assert_eq!(again.score(), place.score());
    }
    for score in [-1.0, f64::NEG_INFINITY, f64::INFINITY, 1e19, 2e19, -1e300, 0.5] {
        assert!(Position::of_score(score).is_valid(), "{score}");
    }
}

/// What lies in an area lies in one of its cells, and in one only.
#[test]
fn cells_cover_the_area() {
    let mut draws = draws(3).map(|draw| (draw >> 11) as f64 / (1_u64 << 53) as f64);
    let mut draw = || draws.next().unwrap();
    for _ in 0..2_000 {
        let center = Position { lon: 340.0 * draw() - 170.0, lat: 120.0 * draw() - 60.0 };
        let shape = if draw() < 0.5 {
            Shape::Circle { radius: 500.0 * draw() }
        } else {
            Shape::Box { width: 500.0 * draw(), height: 500.0 * draw() }
        };
        let area = match draw() < 0.3 {
            true => {
                let mut vertex = || Position {
                    lon: center.lon + 6.0 * draw() - 3.0,
                    lat: center.lat + 6.0 * draw() - 3.0,
                };
                Area::polygon((0..5).map(|_| vertex()).collect())
            }
            false => Area { center, shape, unit_m: 1_000.0 },
        };
        let cells = cells(&area);
        let bounds = area.bounds();
        for _ in 0..20 {
            let between = |(from, to): (f64, f64), share: f64| from + share * (to - from);
            let place = Position { lon: between(bounds.lon, draw()), lat: between(bounds.lat, draw()) };
            if !place.is_valid() || area.distance_m(place).is_none() {
                continue;
            }
            let score = place.score();
            let holding = cells.iter().filter(|cell| {
                let (min, max) = cell.scores();
                (min..max).contains(&score)
            });
            assert_eq!(holding.count(), 1, "{place:?} in {area:?}");
        }
    }
}

#[test]
fn neighbours_go_round_the_earth() {
    let east = Cell::of(Position { lon: 179.9, lat: 0.1 }, 4);
    assert_eq!(east.neighbour(1, 0), Cell::of(Position { lon: -179.9, lat: 0.1 }, 4));
    assert_eq!(east.neighbour(1, 0).neighbour(-1, 0), east);
    assert_eq!(east.neighbour(0, 0), east);
    let own = Cell::of(PALERMO, MAX_STEP).span();
    assert!(own.lon.0 <= PALERMO.lon && PALERMO.lon < own.lon.1);
    assert!(own.lat.0 <= PALERMO.lat && PALERMO.lat < own.lat.1);
}

#[test]
fn the_nearest_are_those_of_sorting_all() {
    for order in [Order::Ascending, Order::Descending] {
        for wanted in [1, 10, 2_000, usize::MAX] {
            let mut points = Points::new(wanted, Some(order));
            let mut all = Vec::new();
            for (i, draw) in draws(5).take(5_000).enumerate() {
                let distance_m = (draw % 997) as f64;
                let member = format!("member {i}");
                points.add(Point { member: member.as_bytes(), score: 1.0, position: PALERMO, distance_m });
                all.push((distance_m, member));
            }
            all.sort_by(|a, b| {
                let by_distance = a.0.total_cmp(&b.0);
                if order == Order::Ascending { by_distance } else { by_distance.reverse() }
            });
            points.sort();
            let found: Vec<_> = points
                .iter()
                .map(|p| (p.distance_m, String::from_utf8(p.member.to_vec()).unwrap()))
                .collect();
            all.truncate(wanted);
            assert!(found == all, "{order:?} {wanted}");
        }
    }
}
