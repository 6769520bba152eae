import type { EventMap } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import { currentDate, type RegisteredUser } from "../support/index.ts";

/** What every security event tells. It never carries a secret, a password or a token. */
export interface SecurityEvent {
  /** When it happened. */
  readonly time: Date;
  /** The client's address as the socket, or a trusted proxy, gives it; `null` where there is no socket. */
  readonly address: string | null;
  /** The name of the guard concerned. */
  readonly guard: string;
}

/** Somebody was logged in, or out. */
export interface LoginEvent extends SecurityEvent {
  readonly user: RegisteredUser;
}

/** A login failed. */
export interface FailedLoginEvent extends SecurityEvent {
  /** The account that was tried, or `null` where there is none such. */
  readonly user: RegisteredUser | null;
  /** The identifier that was tried, in its normal form; `null` where it was none, or the login was by primary key. */
  readonly identifier: string | null;
}

/** A login waits for a step. */
export interface PendingLoginEvent extends SecurityEvent {
  readonly user: RegisteredUser;
  /** The name of the step. */
  readonly step: string;
}

/** A user logged in on a device, or in a browser, that he was not seen on before. */
export interface NewDeviceEvent extends SecurityEvent {
  readonly user: RegisteredUser;
  /** What to call the device: `Firefox on Windows`. */
  readonly device: string;
  /** What the client calls itself; `null` where it does not. */
  readonly userAgent: string | null;
}

declare module "../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.login": LoginEvent;
    "auth.failed": FailedLoginEvent;
    "auth.pending": PendingLoginEvent;
    "auth.logout": LoginEvent;
    "auth.new_device": NewDeviceEvent;
  }
}

/** The events that are about one request and one guard. */
type SecurityEventName = {
  [Name in keyof EventMap]: EventMap[Name] extends SecurityEvent ? Name : never;
}[keyof EventMap];

/**
 * Tells the listeners of something that happened to a request's authentication.
 *
 * Listeners are not waited for: how long an answer takes must not depend on what one of them does with an account.
 *
 * @param details what the event tells beyond time, address and guard
 */
export function announce<Name extends SecurityEventName>(
  context: HttpContext,
  name: Name,
  guard: string,
  details: Omit<EventMap[Name], keyof SecurityEvent>,
): void {
  const common: SecurityEvent = { time: currentDate(), address: context.request.clientAddress, guard };
  void context.auth.events?.emit(name, { ...common, ...details } as EventMap[Name]);
}
