/** What `login` says: the login is complete, or it waits for the step that is named. */
export type LoginAnswer = { readonly status: "complete" } | { readonly status: "pending"; readonly step: string };

/** What `confirmPassword` says: the same for a password that was asked for again. */
export type ConfirmationAnswer =
  | { readonly status: "confirmed" }
  | { readonly status: "pending"; readonly step: string };

/**
 * What `register` says. `complete`: the account exists, and is logged in. `pending`: its login waits for a step. `mailed`:
 * the application doesn't tell whether the address was free, and `message` says where to look.
 */
export type RegistrationAnswer =
  | { readonly status: "complete"; readonly verificationSent: boolean }
  | { readonly status: "pending"; readonly step: string }
  | { readonly status: "mailed"; readonly message: string };

/** What was done, in a word, and in a sentence for the user. */
export interface StatusAnswer<Status extends string = string> {
  readonly status: Status;
  readonly message: string;
}

/** What the link of a verification mail is for, or has done. */
export interface VerificationAnswer {
  /** `confirm`: following it would verify the address. `already`: it was followed before. */
  readonly status: "confirm" | "verified" | "already";
  readonly email: string;
  /** Whether it changes the account's address. */
  readonly isChange: boolean;
  /** For the user; missing with `confirm`. */
  readonly message?: string;
}

/** What undoing a change of address says: `resetToken` is the `token` of `resetPassword`. */
export interface UndoAnswer extends StatusAnswer<"undone"> {
  readonly email: string;
  readonly resetToken: string;
}

/** One login of the user, as `logins` lists it. Times are ISO 8601. */
export interface LoginEntry {
  readonly id: string;
  readonly device: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly lastUsedAt: string;
  readonly createdAt: string;
  /** The names of the proofs that the user has given in it: `["password"]`. */
  readonly by: readonly string[];
  /** Whether it is the one that asks. */
  readonly isCurrent: boolean;
}

/** A page of the user's logins. `before` and `after` name the pages next to it, if there are any. */
export interface LoginList {
  readonly logins: readonly LoginEntry[];
  readonly before: string | null;
  readonly after: string | null;
}
