import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, expectTypeOf, test } from "vitest";
import { Events } from "./index.ts";

declare module "./event-map.ts" {
  interface EventMap {
    "test.placed": { readonly id: number };
    "test.paid": { readonly amount: number };
    "test.opened": undefined;
  }
}

interface Line {
  readonly details: object;
  readonly message: string;
}

function create() {
  const lines: Line[] = [];
  const events = new Events({ error: (details, message) => lines.push({ details, message }) });
  return { events, lines };
}

describe("listening", () => {
  test("a listener receives the payload of every event with its name, and of no others", async () => {
    const { events } = create();
    const seen: unknown[] = [];
    events.on("test.placed", (payload) => seen.push(payload));
    await events.emit("test.placed", { id: 1 });
    await events.emit("test.paid", { amount: 5 });
    await events.emit("test.placed", { id: 2 });
    expect(seen).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test("a listener is called after the code that follows emit()", async () => {
    const { events } = create();
    const seen: string[] = [];
    events.on("test.opened", () => seen.push("listener"));
    const emitted = events.emit("test.opened", undefined);
    seen.push("caller");
    await emitted;
    expect(seen).toEqual(["caller", "listener"]);
  });

  test("the payload is the same object that was emitted", async () => {
    const { events } = create();
    const order = { id: 1 };
    let seen: unknown;
    events.on("test.placed", (payload) => {
      seen = payload;
    });
    await events.emit("test.placed", order);
    expect(seen).toBe(order);
  });

  test("an event can have no payload", async () => {
    const { events } = create();
    const seen: unknown[] = [];
    events.on("test.opened", (payload) => seen.push(payload));
    await events.emit("test.opened", undefined);
    expect(seen).toEqual([undefined]);
  });

  test("an event without listeners can be emitted", async () => {
    const { events, lines } = create();
    expect(await events.emit("test.placed", { id: 1 })).toBeUndefined();
    expect(lines).toEqual([]);
  });

  test("names and payloads are typed by EventMap", () => {
    const { events } = create();
    events.on("test.placed", (payload) => {
      expectTypeOf(payload).toEqualTypeOf<{ readonly id: number }>();
    });
    // @ts-expect-error: no event has this name
    events.on("test.plaecd", () => {});
    // @ts-expect-error: this event has another payload
    events.emit("test.placed", { amount: 5 });
    // @ts-expect-error: this event needs a payload
    events.emit("test.placed");
  });
});

describe("once", () => {
  test("a listener is called for the next event only", async () => {
    const { events } = create();
    const seen: number[] = [];
    events.once("test.placed", ({ id }) => seen.push(id));
    await events.emit("test.placed", { id: 1 });
    await events.emit("test.placed", { id: 2 });
    expect(seen).toEqual([1]);
  });

  test("a listener is called once, even if several events are emitted at the same time", async () => {
    const { events } = create();
    const seen: number[] = [];
    events.once("test.placed", ({ id }) => seen.push(id));
    await Promise.all(Array.from({ length: 20 }, (_, id) => events.emit("test.placed", { id })));
    expect(seen).toEqual([0]);
  });

  test("a listener that emits the event again is not called again", async () => {
    const { events } = create();
    let calls = 0;
    events.once("test.placed", async ({ id }) => {
      calls++;
      await events.emit("test.placed", { id: id + 1 });
    });
    await events.emit("test.placed", { id: 1 });
    expect(calls).toBe(1);
  });

  test("a listener can be removed before that", async () => {
    const { events } = create();
    let calls = 0;
    const off = events.once("test.placed", () => calls++);
    off();
    await events.emit("test.placed", { id: 1 });
    expect(calls).toBe(0);
  });
});

describe("off", () => {
  test("a removed listener is not called anymore, whether removed by off() or by the returned function", async () => {
    const { events } = create();
    const seen: string[] = [];
    const first = () => seen.push("first");
    const off = events.on("test.placed", () => seen.push("second"));
    events.on("test.placed", first);
    events.on("test.placed", () => seen.push("third"));
    events.off("test.placed", first);
    off();
    await events.emit("test.placed", { id: 1 });
    expect(seen).toEqual(["third"]);
  });

  test("removing a listener twice, or a listener that was never added, does nothing", async () => {
    const { events } = create();
    let calls = 0;
    const listener = () => calls++;
    const off = events.on("test.placed", listener);
    off();
    off();
    events.off("test.placed", listener);
    events.on("test.placed", listener);
    off();
    await events.emit("test.placed", { id: 1 });
    expect(calls).toBe(1);
  });

  test("a listener that was added twice is called twice, and removed completely", async () => {
    const { events } = create();
    let calls = 0;
    const listener = () => calls++;
    events.on("test.placed", listener);
    events.on("test.placed", listener);
    await events.emit("test.placed", { id: 1 });
    expect(calls).toBe(2);
    events.off("test.placed", listener);
    await events.emit("test.placed", { id: 2 });
    expect(calls).toBe(2);
  });

  test("another event's listener is not removed", async () => {
    const { events } = create();
    let calls = 0;
    const listener = () => calls++;
    events.on("test.placed", listener);
    events.off("test.paid", listener);
    await events.emit("test.placed", { id: 1 });
    expect(calls).toBe(1);
  });
});

describe("a listener that fails", () => {
  const failure = new Error("The printer is on fire.");
  const failures: [string, () => unknown][] = [
    [
      "throws",
      () => {
        throw failure;
      },
    ],
    ["rejects", () => Promise.reject(failure)],
    [
      "rejects later",
      async () => {
        await sleep(2);
        throw failure;
      },
    ],
  ];

  test.each(failures)("one that %s is logged, and does not affect the others", async (_, fail) => {
    const { events, lines } = create();
    const seen: string[] = [];
    events.on("test.placed", () => seen.push("before"));
    events.on("test.placed", fail);
    events.on("test.placed", async () => {
      await sleep(4);
      seen.push("after");
    });
    expect(await events.emit("test.placed", { id: 1 })).toBeUndefined();
    expect(seen).toEqual(["before", "after"]);
    expect(lines).toEqual([{ details: { err: failure, event: "test.placed" }, message: "A listener failed." }]);
  });

  test("each failure has its own log line, without the event's payload", async () => {
    const { events, lines } = create();
    for (const [, fail] of failures) events.on("test.paid", fail);
    await events.emit("test.paid", { amount: 987_654 });
    expect(lines).toHaveLength(3);
    expect(JSON.stringify(lines)).not.toContain("987654");
  });

  test("one added with once() is not called again", async () => {
    const { events, lines } = create();
    events.once("test.placed", () => {
      throw failure;
    });
    await events.emit("test.placed", { id: 1 });
    await events.emit("test.placed", { id: 2 });
    expect(lines).toHaveLength(1);
  });

  test("one that throws a value other than an error is logged as well", async () => {
    const { events, lines } = create();
    events.on("test.placed", () => Promise.reject("no paper"));
    await events.emit("test.placed", { id: 1 });
    expect(lines).toEqual([{ details: { err: "no paper", event: "test.placed" }, message: "A listener failed." }]);
  });
});

describe("waiting", () => {
  test("emit resolves when the slowest listener is done, and listeners run concurrently", async () => {
    const { events } = create();
    let working = 0;
    let most = 0;
    const listener = async () => {
      most = Math.max(most, ++working);
      await sleep(5);
      working--;
    };
    for (let i = 0; i < 3; i++) events.on("test.placed", () => listener());
    await events.emit("test.placed", { id: 1 });
    expect({ working, most }).toEqual({ working: 0, most: 3 });
  });

  test("settled waits for all emitted events, including those that listeners emit in the meantime", async () => {
    const { events } = create();
    const done: string[] = [];
    events.on("test.placed", async ({ id }) => {
      await sleep(5);
      void events.emit("test.paid", { amount: id });
      done.push("placed");
    });
    events.on("test.paid", async () => {
      await sleep(5);
      done.push("paid");
    });
    void events.emit("test.placed", { id: 1 });
    await events.settled();
    expect(done).toEqual(["placed", "paid"]);
    await events.settled();
  });
});
