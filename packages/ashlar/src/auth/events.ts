import type { EventMap } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import { currentDate, type RegisteredUser } from "../support/index.ts";

/** The contents of every security event. It never carries a secret, a password or a token. */
export interface SecurityEvent {
  /** When it happened. */
  readonly time: Date;
  /** The client's address according to the socket, or to a trusted proxy; `null` if there is no socket. */
  readonly address: string | null;
  /** The name of the guard concerned. */
  readonly guard: string;
}

/** A user was logged in. */
export interface LoginEvent extends SecurityEvent {
  readonly user: RegisteredUser;
  /**
   * The names of the proofs that were given, starting with the login's first one: `["password"]`; empty if there
   * weren't any.
   */
  readonly by: readonly string[];
}

/** A user was logged out. */
export interface LogoutEvent extends SecurityEvent {
  readonly user: RegisteredUser;
}

/** A login failed. */
export interface FailedLoginEvent extends SecurityEvent {
  /** The account that was tried, or `null` if it doesn't exist. */
  readonly user: RegisteredUser | null;
  /**
   * The identifier that was tried, in its normal form; `null` if the input cannot be one, or the login was by primary
   * key.
   */
  readonly identifier: string | null;
  /** The name of the proof that failed: `password`, or a step's; `null` if it wasn't a proof that failed. */
  readonly by: string | null;
}

/** A login waits for a step. */
export interface PendingLoginEvent extends SecurityEvent {
  readonly user: RegisteredUser;
  /** The name of the step. */
  readonly step: string;
}

/** A user logged in on a device, or in a browser, that they had not used before. */
export interface NewDeviceEvent extends SecurityEvent {
  readonly user: RegisteredUser;
  /** A name for the device, in English: `Firefox on Windows`. Mails translate it into their own language. */
  readonly device: string;
  /** The client's user agent; `null` if it sends none. */
  readonly userAgent: string | null;
}

/** Logins of a user on other devices were ended: the user has logged them out, or had too many. */
export interface LoginsEndedEvent extends SecurityEvent {
  readonly user: RegisteredUser;
  /** How many. */
  readonly count: number;
  /** `user`: the user has ended them on this device; `limit`: they were the oldest of more than `maxPerUser`. */
  readonly reason: "user" | "limit";
}

/** A command about accounts was run, such as `ashlar users:show`. */
export interface AccountCommandEvent {
  /** When it took effect. */
  readonly time: Date;
  /** Always `null`, because a command has no client. */
  readonly address: null;
  /** The name of the guard concerned; `null` if it was about several, or none. */
  readonly guard: string | null;
  /** The account that it was about; `null` if it was about several, or none. */
  readonly user: RegisteredUser | null;
  /** The name of the command. */
  readonly command: string;
  /** Who ran it: the value of `--by`, or the operating system's user and the machine. */
  readonly by: string;
  /** Why, as passed; `null` if no reason was. */
  readonly reason: string | null;
  /** The search text of `users:find`; otherwise `null`. */
  readonly identifier: string | null;
  /** How many accounts `users:find` has found, up to 20; else `null`. */
  readonly found: number | null;
  /** The limit that `limits:clear` has cleared; `null` if all, or for another command. */
  readonly limit: string | null;
  /** The client's address for which `limits:clear` has cleared limits; `null` if for none, or for another command. */
  readonly clientAddress: string | null;
  /** How many counts `limits:clear` has cleared; `null` if the store doesn't know, or for another command. */
  readonly cleared: number | null;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.login": LoginEvent;
    "auth.failed": FailedLoginEvent;
    "auth.pending": PendingLoginEvent;
    "auth.logout": LogoutEvent;
    "auth.new_device": NewDeviceEvent;
    "auth.logins_ended": LoginsEndedEvent;
    "auth.command": AccountCommandEvent;
  }
}

/** The user agents of the clients that events are about, which only the list of an account's events contains. */
const userAgents = new WeakMap<object, string>();

/** The user agent of the client that an event is about; `null` if it is unknown. */
export function userAgentOf(event: object): string | null {
  return userAgents.get(event) ?? null;
}

/** The names of events about one request and one guard. */
type SecurityEventName = {
  [Name in keyof EventMap]: EventMap[Name] extends SecurityEvent ? Name : never;
}[keyof EventMap];

/**
 * Notifies the listeners of an event in a request's authentication.
 *
 * Listeners are not awaited: the response time must not depend on a listener's work with an account.
 *
 * @param details the event's fields in addition to time, address and guard
 */
export function announce<Name extends SecurityEventName>(
  context: HttpContext,
  name: Name,
  guard: string,
  details: Omit<EventMap[Name], keyof SecurityEvent>,
): void {
  const common: SecurityEvent = { time: currentDate(), address: context.request.clientAddress, guard };
  const { events } = context.auth;
  const payload = { ...common, ...details } as EventMap[Name];
  const userAgent = context.request.userAgent();
  if (userAgent !== null) userAgents.set(payload, userAgent);
  // Security: a guess counts even if its transaction is rolled back, like attempts; see `Throttle`.
  void (name === "auth.failed" ? events?.happen(name, payload) : events?.emit(name, payload));
}
