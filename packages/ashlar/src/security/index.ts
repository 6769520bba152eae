export { digest, digestEquals, randomToken } from "./digest.ts";
export { normalizeEmail } from "./email.ts";
export { deriveKey, deriveKeys, type KeyPurpose } from "./keys.ts";
export { needsRehash } from "./password/hash-parameters.ts";
export { checkPassword } from "./password/password-rules.ts";
export { hashPassword, verifyDummy, verifyPassword } from "./password/passwords.ts";
export { Sealer } from "./sealer.ts";
export { generateSecret, requireSecret, secretProblem, splitSecrets } from "./secrets.ts";
export { type RotationOptions, Signer, type SignOptions } from "./signer.ts";
