import { expect, test } from "vitest";
import { parseTime } from "./model-attributes.ts";

/** The time as `Date` parses it. */
function asDate(text: string): number {
  return Date.parse(text);
}

test("Date reads the time that the framework wrote", () => {
  const times = ["2026-01-31T12:00:00.000Z", "1999-12-31T23:59:59.999Z", "2024-02-29T00:00:00.001Z"];
  const spread = Array.from({ length: 500 }, (_, index) => new Date(index * 86_399_987_654.321).toISOString());
  for (const time of [...times, ...spread]) expect([time, parseTime(time)]).toEqual([time, asDate(time)]);
});

test("a time of SQLite's CURRENT_TIMESTAMP is in UTC", () => {
  for (const time of ["2026-01-31 12:00:00", "1970-01-01 00:00:00", "2024-02-29 23:59:59"]) {
    expect([time, parseTime(time)]).toEqual([time, asDate(`${time.replace(" ", "T")}Z`)]);
  }
});

test("a day or a time that doesn't exist is read as Date reads it", () => {
  const days = ["2026-02-29", "2026-02-31", "2026-04-31", "2026-01-00", "2026-01-32", "2026-00-01", "2026-13-01"];
  const clocks = ["24:00:00", "23:60:00", "23:59:60", "99:99:99"].map((clock) => `2026-01-31 ${clock}`);
  for (const text of [
    ...days.map((day) => `${day} 12:00:00`),
    ...clocks,
    "0000-01-01 00:00:00",
    "0099-01-01 00:00:00",
  ]) {
    const complete = text.replace(" ", "T");
    expect([text, parseTime(text)]).toEqual([text, asDate(`${complete}Z`)]);
    expect([text, parseTime(`${complete}.000Z`)]).toEqual([text, asDate(`${complete}.000Z`)]);
  }
});

test("other forms are read as Date reads them, and those without a zone in UTC", () => {
  expect(parseTime("2026-01-31T12:00:00+02:00")).toBe(Date.UTC(2026, 0, 31, 10));
  expect(parseTime("2026-01-31T12:00:00Z")).toBe(Date.UTC(2026, 0, 31, 12));
  expect(parseTime("2026-01-31 12:00:00.250")).toBe(Date.UTC(2026, 0, 31, 12, 0, 0, 250));
  expect(parseTime("2026-01-31T12:00")).toBe(Date.UTC(2026, 0, 31, 12));
  expect(parseTime("2026-01-31")).toBe(Date.UTC(2026, 0, 31));
  for (const text of ["", "soon", "2026-01-31 1x:00:00", "2026-01-31T12:00:00.0x0Z", "2026x01-31 12:00:00"]) {
    expect([text, parseTime(text)]).toEqual([text, Number.NaN]);
  }
});
