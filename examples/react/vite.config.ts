import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The API has this origin in TRUSTED_ORIGINS: another port would be another origin.
export default defineConfig({ plugins: [react()], server: { port: 5173, strictPort: true } });
