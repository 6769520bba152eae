import { DoorAccount } from "./door-account.ts";
import type { DoorShop } from "./door-shop.ts";

/** A state that an account can be in when someone tries a door. */
export interface DoorState {
  /** Makes the account. Default: it has a verified address and a password. */
  readonly create?: (shop: DoorShop) => Promise<DoorAccount>;
  /** What happens at the first process, after everything that the door needs is prepared: logins, links, tokens. */
  readonly become?: (account: DoorAccount) => Promise<unknown>;
}

const withApp = async (shop: DoorShop): Promise<DoorAccount> => (await DoorAccount.create(shop)).addApp();

/** The states, by the names that the table has. */
export const STATES: Readonly<Record<string, DoorState>> = {
  "password only": {},
  "second factor": {
    create: withApp,
  },
  "factor missing": {
    become: async (account) => {
      await account.startGrace(4);
      await account.change({ name: "Needs one" });
    },
  },
  "days of grace": {
    become: async (account) => {
      await account.startGrace(1);
      await account.change({ name: "Needs one" });
    },
  },
  "passkey only": {
    create: async (shop) => {
      const account = await (await DoorAccount.create(shop)).addPasskey();
      await account.forgetPassword();
      return account;
    },
  },
  "locked factor": {
    create: withApp,
    become: (account) => account.lockApp(),
  },
  "trusted device": {
    create: async (shop) => {
      const account = await withApp(shop);
      await account.trustDevice();
      return account;
    },
  },
  unverified: { create: (shop) => DoorAccount.create(shop, { isVerified: false }) },
  "no address": {
    become: (account) => account.change({ email: null, verified_at: null }),
  },
  closed: {
    become: (account) => account.change({ deleted_at: new Date() }),
  },
  blocked: { become: (account) => account.change({ blocked_at: new Date() }) },
  limited: {
    become: (account) => account.useUpPasswords(),
  },
  "access ended": {
    become: (account) => account.endAccess(),
  },
};
