import { AshlarError } from "../support/index.ts";

/**
 * Loads a package that applications install only if they need it.
 *
 * @param name the package's name on npm
 * @param purpose the feature that needs it, for the message
 * @param load imports it
 * @throws `E_MISSING_PACKAGE` with the command that installs it
 */
export async function optionalPackage<T>(name: string, purpose: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // If the package exists but lacks one of its own dependencies, that is another problem.
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(`'${name}'`)) throw error;
    throw new AshlarError("E_MISSING_PACKAGE", `${purpose} needs the package "${name}". Run: npm install ${name}`, {
      cause: error,
    });
  }
}
