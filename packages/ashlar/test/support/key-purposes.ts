import type { KeyPurpose } from "../../src/security/index.ts";

/** Every purpose there is: one that is missing here does not typecheck. */
const ALL: Readonly<Record<KeyPurpose, true>> = {
  "email-verification": true,
  "email-change-undo": true,
  "password-reset": true,
  session: true,
  csrf: true,
  "signed-url": true,
  device: true,
};

export const KEY_PURPOSES: readonly KeyPurpose[] = Object.keys(ALL) as KeyPurpose[];
