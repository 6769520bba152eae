import { type Database, databaseOf } from "../../database/index.ts";
import { type Container, currentApplication, runningApplications } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { isModel } from "../users/users-of.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** What the application's features do when access to an account ends. */
    endedAccess: EndedAccess;
  }
}

/** What a feature does when access to an account ends. */
export interface AccessEnd {
  readonly name: string;
  /**
   * Whether what it removes is invalid without it, because it carries the account's access epoch. Then it isn't called if
   * access to all accounts ends at once.
   */
  readonly isBoundToEpoch: boolean;
  /** Called after the user's row was written, in the same transaction. If it throws, access does not end. */
  end(user: Authenticatable): MaybePromise<void>;
}

/** What the features of an application do when access to an account ends: each of them is called once. */
export class EndedAccess {
  readonly container: Container;
  readonly #ends: AccessEnd[] = [];

  constructor(container: Container) {
    this.container = container;
  }

  add(end: AccessEnd): void {
    this.#ends.push(end);
  }

  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  /** Whether all that features have given users is invalid once the access epoch has changed. */
  get isBoundToEpoch(): boolean {
    return this.#ends.every(({ isBoundToEpoch }) => isBoundToEpoch);
  }

  async end(user: Authenticatable): Promise<void> {
    for (const one of this.#ends) await one.end(user);
  }
}

/** What the features of an application do when access ends, whether or not it has `AuthProvider`. */
export function endedAccessOf(container: Container): EndedAccess {
  if (!container.has("endedAccess")) container.bind("endedAccess", new EndedAccess(container));
  return container.make("endedAccess");
}

/** By the database of the users' models, or by the class of users who are not rows. */
const known = new WeakMap<object, readonly EndedAccess[]>();

function isRunning({ container }: EndedAccess): boolean {
  return runningApplications().some((application) => application.container === container);
}

/** Has a user's own methods, which know no application, reach the features of theirs. */
export function endAccessBy(users: Database | object, ended: EndedAccess): void {
  const others = known.get(users) ?? [];
  if (!others.includes(ended)) known.set(users, [...others.filter(isRunning), ended]);
}

/** What features do when access to a user's account ends; `null` if none does anything. */
export function accessEndFor(user: object): EndedAccess | null {
  const userClass = user.constructor;
  const all = known.get(isModel(userClass) ? databaseOf(userClass) : userClass) ?? [];
  const container = currentApplication()?.container;
  // Several applications of a process can have one class of users who are not rows.
  const ended = all.find((one) => one.container === container) ?? all.filter(isRunning).at(-1) ?? all.at(-1);
  return ended === undefined || ended.isEmpty ? null : ended;
}

/** The `endCredentials` of mixins that remove nothing but columns of the user's row, which `accessChanges()` names. */
const ofRows = new WeakSet<object>();

/** Notes that a method `endCredentials` removes nothing but columns of the user's row. */
export function endsWithRowBy(endCredentials: object): void {
  ofRows.add(endCredentials);
}

/** Reports whether a user's credentials are all columns of the row, or bound to its access epoch. */
export function endsWithRow(user: object): boolean {
  const { endCredentials } = user as { readonly endCredentials?: unknown };
  if (typeof endCredentials === "function" && !ofRows.has(endCredentials)) return false;
  return accessEndFor(user)?.isBoundToEpoch ?? true;
}
