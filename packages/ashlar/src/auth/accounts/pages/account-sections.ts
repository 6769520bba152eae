import type { Application } from "../../../boot/index.ts";
import type { MessageKey } from "../../../messages/index.ts";
import type { MaybePromise, RegisteredUser } from "../../../support/index.ts";

/** Something that a user has for proving who they are, such as a passkey. */
export interface AccountEntry {
  /** Its name for the user; `null` if it has none. */
  readonly name: string | null;
  readonly createdAt: Date;
  /** `null` if it has not been used yet. */
  readonly lastUsedAt: Date | null;
}

/** A section of the page `account.security`, which lists everything of one kind that a user has. */
export interface AccountSection<User extends object = RegisteredUser> {
  /** The key of its title: `passkeys.title`. */
  readonly title: MessageKey;
  /** The name of the page where the user manages it, as for `auth.route`. */
  readonly page: string;
  /** Returns the user's entries, newest first. */
  entries(user: User): MaybePromise<readonly AccountEntry[]>;
}

declare module "../../../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /** Its sections of the page `account.security`, created when that page is first shown. */
    readonly accountSections?: (application: Application) => readonly AccountSection[];
  }
}

/** What the page `account.security` shows about the current user's account. */
export interface AccountOverview {
  /** `null` if the account has no address. */
  readonly email: string | null;
  /** Whether the address is verified; `null` if addresses aren't verified, or the account has none. */
  readonly isVerified: boolean | null;
  readonly hasPassword: boolean;
  /** How the user can close the account; `null` if there is no route for it. */
  readonly closing: {
    readonly url: string;
    /** Whether it was closed already. */
    readonly isClosed: boolean;
    /** When it is removed: the date that was set when it was closed, or would be if it is closed now. */
    readonly date: Date;
    /** For how many days a login then reopens it; `0`: it is removed at once. */
    readonly graceDays: number;
    /** How it is removed. */
    readonly removal: "delete" | "anonymize";
  } | null;
  /** On how many devices the user is logged in; 100 if there are more. */
  readonly devices: number;
  /** What features show, such as passkeys, with the URLs of the pages on which they are managed. */
  readonly sections: readonly {
    readonly title: string;
    readonly url: string;
    readonly entries: readonly AccountEntry[];
  }[];
}

/** The sections of an application's features, in the order of `PROVIDERS`. */
export function accountSections(application: Application): readonly AccountSection[] {
  return application.features.flatMap(({ feature }) => feature.accountSections?.(application) ?? []);
}
