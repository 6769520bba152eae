import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished, vi } from "vitest";

/** Makes every UUID in a test the same, as if someone had guessed it, and returns it. */
export function guessedUuid(): string {
  const uuid = "00000000-0000-4000-8000-000000000000";
  const guessed = vi.spyOn(crypto, "randomUUID").mockReturnValue(uuid);
  syncBuiltinESMExports();
  onTestFinished(() => {
    guessed.mockRestore();
    syncBuiltinESMExports();
  });
  return uuid;
}
