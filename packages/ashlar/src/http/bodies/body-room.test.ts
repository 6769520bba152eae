import { expect, test } from "vitest";
import { ALWAYS_ROOM_BYTES, BodyRoom } from "./held-bodies.ts";

const LARGE = 10 * ALWAYS_ROOM_BYTES;

test("S196 memory is reserved for the rest of a body, and bodies that don't fit are refused with a time to retry", () => {
  const room = new BodyRoom(2 * LARGE, "maxMemoryBytes");
  const [one, two, three] = [room.share(), room.share(), room.share()];
  for (const share of [one, two]) {
    share.reserve(LARGE);
    share.take(LARGE / 2);
  }
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
  expect(room.usedBytes).toBe(LARGE + ALWAYS_ROOM_BYTES);
  for (const share of [one, two, three]) share.release();
  expect(room.usedBytes).toBe(0);
});

test("S196 arriving bytes use up the reservation first, and then the free room", () => {
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

test("S196 small bodies still fit while others use all of the room", () => {
  const room = new BodyRoom(LARGE, "maxMemoryBytes");
  room.share().take(LARGE);
  const login = room.share();
  login.reserve(ALWAYS_ROOM_BYTES);
  login.take(ALWAYS_ROOM_BYTES);
  expect(room.usedBytes).toBe(LARGE + ALWAYS_ROOM_BYTES);
  expect(() => login.take(1)).toThrow(expect.objectContaining({ code: "E_OVERLOADED" }));
});

test("S196 a body that is only announced reserves a fixed minimum, and an arriving one as much again as has arrived", () => {
  const room = new BodyRoom(LARGE, "maxDiskBytes");
  const announced = Array.from({ length: 5 }, () => room.share());
  for (const share of announced) share.reserve(LARGE / 2);
  expect(room.usedBytes).toBe(5 * ALWAYS_ROOM_BYTES);
  const [sending] = announced;
  sending!.take(2 * ALWAYS_ROOM_BYTES);
  // What the other four have announced, plus what has arrived, plus the same amount again.
  expect(room.usedBytes).toBe(4 * ALWAYS_ROOM_BYTES + 4 * ALWAYS_ROOM_BYTES);
  expect(() => room.share().reserve(LARGE / 2)).toThrow(expect.objectContaining({ code: "E_OVERLOADED" }));
});

test("S196 neither more than the free room nor more than the remaining bytes is reserved", () => {
  const room = new BodyRoom(LARGE, "maxDiskBytes");
  const share = room.share();
  share.reserve(LARGE);
  const other = room.share();
  other.take(LARGE - 3 * ALWAYS_ROOM_BYTES);
  share.take(2 * ALWAYS_ROOM_BYTES);
  expect(room.usedBytes).toBe(LARGE - ALWAYS_ROOM_BYTES);
  other.release();
  share.take(4 * ALWAYS_ROOM_BYTES);
  expect(room.usedBytes).toBe(LARGE);
  share.take(3 * ALWAYS_ROOM_BYTES);
  share.dropReservation();
  expect(room.usedBytes).toBe(9 * ALWAYS_ROOM_BYTES);
});
