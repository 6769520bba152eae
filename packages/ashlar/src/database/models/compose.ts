import type { ModelClass } from "./model-types.ts";

/**
 * A mixin for {@link compose}: a function that extends a model class.
 *
 * Declare what it adds as named interfaces, so that you can write out its type:
 *
 * ```ts
 * interface Archives { archived_at: Date | null; archive(): Promise<void> }
 * interface ArchivesStatics { archiveAfterDays: number }
 *
 * function Archivable<B extends ModelClass>(base: B): B & Constructor<Archives> & ArchivesStatics {
 *   return class extends base {
 *     static archiveAfterDays = 30;
 *     static override guarded: readonly string[] = ["archived_at"];
 *     declare archived_at: Date | null;
 *     async archive(): Promise<void> {
 *       this.archived_at = new Date();
 *       await this.save();
 *     }
 *   };
 * }
 * ```
 */
export type Mixin<B, R> = (base: B) => R;

/**
 * Applies mixins to a model class, the first one innermost, and returns the class to extend:
 *
 * ```ts
 * class User extends compose(Model, Authenticates, AuthenticatesTokens) {}
 * ```
 */
export function compose<B extends ModelClass>(base: B): B;
export function compose<B extends ModelClass, R1>(base: B, m1: Mixin<B, R1>): R1;
export function compose<B extends ModelClass, R1, R2>(base: B, m1: Mixin<B, R1>, m2: Mixin<R1, R2>): R2;
export function compose<B extends ModelClass, R1, R2, R3>(
  base: B,
  m1: Mixin<B, R1>,
  m2: Mixin<R1, R2>,
  m3: Mixin<R2, R3>,
): R3;
export function compose<B extends ModelClass, R1, R2, R3, R4>(
  base: B,
  m1: Mixin<B, R1>,
  m2: Mixin<R1, R2>,
  m3: Mixin<R2, R3>,
  m4: Mixin<R3, R4>,
): R4;
export function compose<B extends ModelClass, R1, R2, R3, R4, R5>(
  base: B,
  m1: Mixin<B, R1>,
  m2: Mixin<R1, R2>,
  m3: Mixin<R2, R3>,
  m4: Mixin<R3, R4>,
  m5: Mixin<R4, R5>,
): R5;
export function compose<B extends ModelClass, R1, R2, R3, R4, R5, R6>(
  base: B,
  m1: Mixin<B, R1>,
  m2: Mixin<R1, R2>,
  m3: Mixin<R2, R3>,
  m4: Mixin<R3, R4>,
  m5: Mixin<R4, R5>,
  m6: Mixin<R5, R6>,
): R6;
export function compose(base: unknown, ...mixins: readonly Mixin<unknown, unknown>[]): unknown {
  return mixins.reduce((made, mixin) => mixin(made), base);
}
