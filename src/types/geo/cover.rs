//! The cells that an area lies in: the one of its centre and those around it, at a step where they are as large as the area.

use smallvec::SmallVec;

use super::area::Area;
use super::grid::{Cell, MAX_STEP};

/// Half of the earth's circumference on the map.
const MERCATOR_MAX: f64 = 20_037_726.37;

/// Where the cells around the centre lie, in columns and rows. The order is Redis's, and shows in replies.
const AROUND: [(i32, i32); 9] =
    [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// The step at which an area of this reach takes about one cell.
fn step_for(reach_m: f64, lat: f64) -> u32 {
    if reach_m == 0.0 {
        return MAX_STEP;
    }
    let (mut reach_m, mut step) = (reach_m, 1_i32);
    while reach_m < MERCATOR_MAX {
        reach_m *= 2.0;
        step += 1;
    }
    step -= 2;
    // Cells are narrow near the poles.
    step -= i32::from(lat.abs() > 66.0) + i32::from(lat.abs() > 80.0);
    step.clamp(1, MAX_STEP as i32) as u32
}

/// Cells to be searched, in order, none twice.
pub fn cells(area: &Area) -> SmallVec<[Cell; 9]> {
    let bounds = area.bounds();
    let mut step = step_for(area.reach_m(), area.center.lat);
    let mut center = Cell::of(area.center, step);
    let reaches_beyond = |center: Cell| {
        let span = |columns, rows| center.neighbour(columns, rows).span();
        span(0, 1).lat.1 < bounds.lat.1
            || span(0, -1).lat.0 > bounds.lat.0
            || span(1, 0).lon.1 < bounds.lon.1
            || span(-1, 0).lon.0 > bounds.lon.0
    };
    if step > 1 && reaches_beyond(center) {
        step -= 1;
        center = Cell::of(area.center, step);
    }
    // Where the centre's cell ends beyond the area, nothing on that side is of interest. At the first step the cells on all
    // sides are the same few; later on none is the same as another.
    let own = center.span();
    let is_needed = |columns: i32, rows: i32| {
        step < 2
            || !(rows < 0 && own.lat.0 < bounds.lat.0
                || rows > 0 && own.lat.1 > bounds.lat.1
                || columns < 0 && own.lon.0 < bounds.lon.0
                || columns > 0 && own.lon.1 > bounds.lon.1)
    };
    let mut cells: SmallVec<[Cell; 9]> = SmallVec::new();
    for (columns, rows) in AROUND {
        let cell = center.neighbour(columns, rows);
        if is_needed(columns, rows) && (step >= 2 || !cells.contains(&cell)) {
            cells.push(cell);
        }
    }
    cells
}
