/**
 * What the application tells the framework about its own types, once, by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface Register { user: User } }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the application can fill it.
export interface Register {}

/** The application's user: the class named in {@link Register}, or any object where none is named. */
export type RegisteredUser = Register extends { user: infer User } ? User : object;
