import { type Database, databaseOf } from "../../database/index.ts";
import { type Container, currentApplication, runningApplications } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import { type Authenticatable, isModel } from "../users/authenticatable.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** Runs the actions of the application's features when access to an account ends. */
    access: ApplicationAccess;
  }
}

/** A feature's action when access to an account ends. */
export interface AccessFeature {
  /**
   * Whether the removed credentials are already invalid, because they carry the account's access epoch. Then it isn't
   * called if access to all accounts ends at once.
   */
  readonly isBoundToEpoch: boolean;
  /** Called in the same transaction, after the user's row was written. If it throws, access does not end. */
  end(user: Authenticatable): MaybePromise<void>;
}

/** The actions of an application's features when access to an account ends; each is called once. */
export class ApplicationAccess {
  readonly container: Container;
  readonly #features: AccessFeature[] = [];
  /** A guard for users of a class; `null` if there isn't one. */
  guardOf: (userClass: object) => string | null = () => null;

  constructor(container: Container) {
    this.container = container;
  }

  add(feature: AccessFeature): void {
    this.#features.push(feature);
  }

  get hasFeatures(): boolean {
    return this.#features.length > 0;
  }

  /** Whether all credentials from features are invalid once the access epoch has changed. */
  get isBoundToEpoch(): boolean {
    return this.#features.every(({ isBoundToEpoch }) => isBoundToEpoch);
  }

  async endFeatures(user: Authenticatable): Promise<void> {
    for (const feature of this.#features) await feature.end(user);
  }
}

/** By the database of the users' models, or by the class of users who aren't rows. */
const known = new WeakMap<object, readonly ApplicationAccess[]>();

function isRunning({ container }: ApplicationAccess): boolean {
  return runningApplications().some((application) => application.container === container);
}

/** Connects a user's own methods, which don't know the application, to its features. */
export function endAccessBy(users: Database | object, access: ApplicationAccess): void {
  const others = known.get(users) ?? [];
  if (!others.includes(access)) known.set(users, [...others.filter(isRunning), access]);
}

/** The application that a user belongs to; `null` if there isn't one. */
export function applicationAccessOf(user: object): ApplicationAccess | null {
  const userClass = user.constructor;
  const all = known.get(isModel(userClass) ? databaseOf(userClass) : userClass) ?? [];
  const container = currentApplication()?.container;
  // Several applications of a process can have one class of users who are not rows.
  return all.find((one) => one.container === container) ?? all.filter(isRunning).at(-1) ?? all.at(-1) ?? null;
}
