import { afterEach, expect, test, vi } from "vitest";
import { ALWAYS_ROOM_BYTES, BodyRoom } from "./body-room.ts";

const LARGE = 10 * ALWAYS_ROOM_BYTES;

afterEach(() => void vi.useRealTimers());

test("S196 what is announced is reserved at once, and what doesn't fit is refused with the time to come back", () => {
  const room = new BodyRoom(2 * LARGE, "maxMemoryBytes");
  const [one, two, three] = [room.share(), room.share(), room.share()];
  one.reserve(LARGE);
  two.reserve(LARGE);
  expect(() => three.reserve(LARGE)).toThrow(
    expect.objectContaining({
      code: "E_OVERLOADED",
      status: 503,
      message: expect.stringContaining(`APP.limits.maxMemoryBytes: ${2 * LARGE} bytes`),
      headers: { "retry-after": "5", connection: "close" },
    }),
  );
  expect(room.usedBytes).toBe(2 * LARGE);
  one.release();
  three.reserve(LARGE);
  expect(room.usedBytes).toBe(2 * LARGE);
  for (const share of [one, two, three]) share.release();
  expect(room.usedBytes).toBe(0);
});

test("S196 what arrives takes from the reservation, and beyond it from the room", () => {
  const room = new BodyRoom(2 * LARGE, "maxMemoryBytes");
  const share = room.share();
  share.reserve(LARGE);
  share.take(LARGE);
  expect(room.usedBytes).toBe(LARGE);
  share.take(LARGE);
  expect(() => room.share().reserve(LARGE)).toThrow(expect.objectContaining({ code: "E_OVERLOADED" }));
  share.give(LARGE);
  expect([room.usedBytes, share.heldBytes]).toEqual([LARGE, LARGE]);
});

test("S196 a body that never has room is too large, whatever others hold", () => {
  const room = new BodyRoom(LARGE, "maxDiskBytes");
  const share = room.share();
  const tooLarge = expect.objectContaining({ code: "E_PAYLOAD_TOO_LARGE" });
  expect(() => share.reserve(LARGE + 1)).toThrow(tooLarge);
  share.take(LARGE);
  expect(() => share.take(1)).toThrow(tooLarge);
});

test("S196 small bodies have room while others take all of it", () => {
  const room = new BodyRoom(LARGE, "maxMemoryBytes");
  room.share().reserve(LARGE);
  const login = room.share();
  login.reserve(ALWAYS_ROOM_BYTES);
  login.take(ALWAYS_ROOM_BYTES);
  expect(room.usedBytes).toBe(LARGE + ALWAYS_ROOM_BYTES);
  expect(() => login.take(1)).toThrow(expect.objectContaining({ code: "E_OVERLOADED" }));
});

test("S196 who announces and doesn't send loses the reservation to others, and goes on if there is room", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const room = new BodyRoom(LARGE, "maxMemoryBytes");
  const slow = room.share();
  slow.reserve(LARGE);
  slow.take(1000);
  slow.countArrived(1000);
  expect(() => room.share().reserve(LARGE - 1000)).toThrow();
  vi.advanceTimersByTime(3000);
  const other = room.share();
  other.reserve(LARGE - 1000);
  expect(room.usedBytes).toBe(LARGE);
  expect(() => slow.take(ALWAYS_ROOM_BYTES)).toThrow(expect.objectContaining({ code: "E_OVERLOADED" }));
  other.release();
  slow.take(LARGE - 1000);
  expect(room.usedBytes).toBe(LARGE);
});

test("S196 who sends as announced keeps the reservation", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const room = new BodyRoom(LARGE, "maxMemoryBytes");
  const share = room.share();
  share.reserve(LARGE);
  vi.advanceTimersByTime(3000);
  share.countArrived(200_000);
  expect(() => room.share().reserve(LARGE)).toThrow(expect.objectContaining({ code: "E_OVERLOADED" }));
});
