import type { GuardUser } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import type { WebGuard } from "./web-guard.ts";

/** The framework's own guards by name. An application augments {@link Guards} itself. */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because features augment it.
export interface FrameworkGuards {}

/**
 * The guards with their own classes, by name; all others are guards of the driver `web`. If `auth.guard("device")`
 * should return your class, name it by declaration merging:
 *
 * ```ts
 * declare module "ashlar/auth" { interface Guards { device: DeviceGuard } }
 * ```
 */
export interface Guards extends FrameworkGuards {}

/** The guard with a given name. */
export type GuardOf<Name extends string> = string extends Name
  ? Guard
  : Name extends keyof Guards
    ? Guards[Name]
    : WebGuard<GuardUser<Name>>;
