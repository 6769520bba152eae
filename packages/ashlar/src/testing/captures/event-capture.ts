import { isDeepStrictEqual } from "node:util";
import type { Application } from "../../boot/index.ts";
import type { EventMap, EventName, Events } from "../../events/index.ts";
import { failure, listed } from "../failure.ts";

/** Selects events with a name: those whose payload has these members, or for which the function returns `true`. */
export type EventMatch<N extends EventName> = Partial<EventMap[N]> | ((payload: EventMap[N]) => boolean);

/** The active captures, by the events they watch. */
const watching = new WeakMap<Events, Set<EventCapture>>();

/** The events of an application since the capture began. Listeners are still called. */
export class EventCapture implements Disposable {
  readonly #events: Events;
  #captured: EventCapture["all"][number][] = [];

  /** @internal Use `captureEvents`. */
  constructor(events: Events) {
    this.#events = events;
    captures(events).add(this);
  }

  /** All events so far, with name and payload, oldest first. */
  get all(): readonly { readonly name: keyof EventMap; readonly payload: EventMap[keyof EventMap] }[] {
    return [...this.#captured];
  }

  /** The payloads of the events with a name, oldest first. */
  of<N extends EventName>(name: N): readonly EventMap[N][] {
    return this.#captured.filter((event) => event.name === name).map(({ payload }) => payload as EventMap[N]);
  }

  /**
   * Asserts that an event happened.
   *
   * @param match selects events with the name: `{ guard: "web" }`, or a function; default: any
   * @returns the first such event's payload
   * @throws `AssertionError`
   */
  assertEmitted<N extends EventName>(name: N, match?: EventMatch<N>): EventMap[N] {
    const payloads = this.of(name);
    const place = payloads.findIndex((payload) => fits(payload, match));
    if (place !== -1) return payloads[place]!;
    const some = payloads.length === 0 ? "" : ` that matches; ${payloads.length} did not match`;
    throw failure(`There was no event "${name}"${some}. ${this.#account()}`, this.assertEmitted);
  }

  /**
   * Asserts that no such event happened.
   *
   * @throws `AssertionError`
   */
  assertNotEmitted<N extends EventName>(name: N, match?: EventMatch<N>): void {
    const found = this.of(name).filter((payload) => fits(payload, match)).length;
    if (found > 0) throw failure(`The event "${name}" happened ${times(found)}.`, this.assertNotEmitted);
  }

  /**
   * Asserts that no event happened.
   *
   * @throws `AssertionError`
   */
  assertNothingEmitted(): void {
    if (this.#captured.length > 0) throw failure(this.#account(), this.assertNothingEmitted);
  }

  /** Forgets the events that were captured so far. */
  clear(): void {
    this.#captured = [];
  }

  /** Ends the capture, and keeps the captured events. `using events = …` does this at the end of a block. */
  stop(): void {
    const others = watching.get(this.#events);
    others?.delete(this);
    if (others?.size !== 0) return;
    watching.delete(this.#events);
    // Restores the prototype's own method.
    Reflect.deleteProperty(this.#events, "happen");
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  /** @internal */
  add(event: EventCapture["all"][number]): void {
    this.#captured.push(event);
  }

  #account(): string {
    if (this.#captured.length === 0) return "Nothing happened at all.";
    return `These happened: ${listed(this.#captured.map(({ name }) => name))}.`;
  }
}

/**
 * Captures all events of an application.
 *
 * ```ts
 * using events = captureEvents(application);
 * await client.post("/login", { email, password });
 * events.assertEmitted("auth.login", { guard: "web" });
 * ```
 *
 * @throws `E_UNKNOWN_SERVICE` in an application without `EventProvider`
 */
export function captureEvents(application: Application): EventCapture {
  return new EventCapture(application.container.make("events"));
}

function captures(events: Events): Set<EventCapture> {
  const known = watching.get(events);
  if (known !== undefined) return known;
  const made = new Set<EventCapture>();
  watching.set(events, made);
  const happen = events.happen.bind(events);
  // Captures here and not in `emit`, because in a transaction, the event happens at the commit, if at all.
  events.happen = (name, payload) => {
    for (const capture of made) capture.add({ name, payload });
    return happen(name, payload);
  };
  return made;
}

function fits<N extends EventName>(payload: EventMap[N], match: EventMatch<N> | undefined): boolean {
  if (match === undefined) return true;
  if (typeof match === "function") return match(payload);
  const members = payload as unknown as Readonly<Record<string, unknown>>;
  return Object.entries(match).every(([name, value]) => isDeepStrictEqual(members[name], value));
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
