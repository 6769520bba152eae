import type { Application } from "../../boot/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import { type ListedLogin, type LoginOwner, type LoginStore, PENDING_EPOCH } from "../logins/login-store.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import type { DataSubject, UserDataSource } from "../users/user-data.ts";
import type { EmailChangeTable } from "./addresses/email-change-table.ts";
import type { SecurityEventsTable } from "./history/security-events-table.ts";
import type { PasswordResetTable } from "./passwords/password-reset-table.ts";

const BATCH = 200;

/** The dependencies of {@link accountData}. */
export interface AccountDataDependencies {
  readonly logins: LoginStores;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly securityEvents: SecurityEventsTable;
}

type StoredData = Omit<UserDataSource, "name">;

/** What accounts themselves store about users, by the names of the tables. */
export type AccountData = Readonly<
  Record<"logins" | "password_resets" | "email_changes" | "security_events", StoredData>
>;

/** What auth itself stores about users, in addition to their rows. */
export function accountData(dependencies: AccountDataDependencies): AccountData {
  const { logins, resets, emailChanges, securityEvents } = dependencies;
  const addressesOf = async ({ guards, id, email }: DataSubject): Promise<readonly string[]> => {
    const reserved = await emailChanges.reservedFor(guards, id);
    return email === null ? reserved : [email, ...reserved];
  };
  const storesOf = ({ guards, id: userId }: DataSubject) => {
    return guards.filter((guard) => logins.has(guard)).map((guard) => ({ store: logins.of(guard), guard, userId }));
  };
  return {
    logins: {
      async export(subject) {
        const rows: Readonly<Record<string, unknown>>[] = [];
        const epoch = accessEpochOf(subject.user);
        for (const { store, ...owner } of storesOf(subject)) {
          for await (const login of allLogins(store, owner)) {
            rows.push({ guard: owner.guard, is_valid: login.accessEpoch === epoch, ...shown(login) });
          }
        }
        return rows;
      },
      async erase(subject) {
        for (const { store, ...owner } of storesOf(subject)) await store.endAll(owner);
      },
    },
    password_resets: {
      export: async (subject) => resets.list(subject.guards, await addressesOf(subject)),
      erase: async (subject) => resets.delete(subject.guards, await addressesOf(subject)),
    },
    email_changes: {
      export: ({ guards, id }) => emailChanges.list(guards, id),
      erase: ({ guards, id, email }) => emailChanges.delete(guards, id, email),
    },
    security_events: {
      export: ({ guards, id }) => securityEvents.export(guards, id),
      erase: ({ guards, id }) => securityEvents.delete(guards, id),
    },
  };
}

/** Declares the same data; the account services create it when it is needed. */
export const ACCOUNT_DATA: Readonly<Record<keyof AccountData, (application: Application) => StoredData>> = {
  logins: declared("logins"),
  password_resets: declared("password_resets"),
  email_changes: declared("email_changes"),
  security_events: declared("security_events"),
};

function declared(name: keyof AccountData): (application: Application) => StoredData {
  return ({ container }) => ({
    export: (subject) => container.make("accounts").data[name].export(subject),
    erase: (subject) => container.make("accounts").data[name].erase(subject),
  });
}

/** The logins of a user that have not expired, newest first, except those that wait for a step. */
async function* allLogins(store: LoginStore, owner: LoginOwner): AsyncGenerator<ListedLogin> {
  let batch: readonly ListedLogin[] = [];
  do {
    batch = await store.list(owner, { limit: BATCH, olderThan: batch.at(-1)?.id ?? null });
    for (const login of batch) if (login.accessEpoch !== PENDING_EPOCH) yield login;
  } while (batch.length === BATCH);
}

function shown({ id, ip, userAgent, authenticatedAt, methods, lastUsedAt, expiresAt, createdAt }: ListedLogin) {
  return {
    id,
    ip,
    user_agent: userAgent,
    authenticated_at: authenticatedAt,
    methods: (methods ?? []).map(({ by, at }) => ({ by, at })),
    last_used_at: lastUsedAt,
    expires_at: expiresAt,
    created_at: createdAt,
  };
}
