/**
 * The application's own types, declared once for the framework by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface Register { user: User } }
 * ```
 *
 * If a guard's users have another class, declare it in `guards`. Then `auth.guard("staff").user()` returns an
 * `Employee`, and `auth.guard("staff").loginAs(employee)` accepts one:
 *
 * ```ts
 * declare module "ashlar" { interface Register { user: User; guards: { staff: Employee } } }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because the application augments it.
export interface Register {}

/** The application's user: the class declared in {@link Register}, or any object if none is declared. */
export type RegisteredUser = Register extends { user: infer User } ? User : object;

/**
 * The user of a guard: the class declared for it in {@link Register}, or the application's user if none is declared.
 */
export type GuardUser<Name extends string> = Register extends { guards: infer Guards }
  ? Name extends keyof Guards
    ? Extract<Guards[Name], object>
    : RegisteredUser
  : RegisteredUser;
