/**
 * What the application tells the framework about its own types, once, by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface Register { user: User } }
 * ```
 *
 * Where a guard has users of another class, `guards` names that class, so that `auth.guard("staff").user()` gives an
 * `Employee`, and `auth.guard("staff").loginAs(employee)` takes one:
 *
 * ```ts
 * declare module "ashlar" { interface Register { user: User; guards: { staff: Employee } } }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the application can fill it.
export interface Register {}

/** The application's user: the class named in {@link Register}, or any object where none is named. */
export type RegisteredUser = Register extends { user: infer User } ? User : object;

/** The user of a guard: the class named for it in {@link Register}, or the application's user where none is named. */
export type GuardUser<Name extends string> = Register extends { guards: infer Guards }
  ? Name extends keyof Guards
    ? Extract<Guards[Name], object>
    : RegisteredUser
  : RegisteredUser;
