#!/usr/bin/env python3
"""Makes this folder's fonts from those of Debian 12: make.py (needs fonttools, fonts-inter, fonts-noto-core, fonts-dejavu-core).

- Inter's contextual alternates draw "->" as an arrow and "0x94" as 0×94, which a view of exact tokens must not do, and Qt 6.4
  cannot switch a feature of a font off: the feature is renamed to a tag that nobody asks for.
- Headlight Symbols are the symbols of DejaVu Sans, without those that are emoji by default.
- Noto's files are copied.
"""
import pathlib
import shutil

from fontTools import subset, ttLib

here = pathlib.Path(__file__).parent
system = pathlib.Path("/usr/share/fonts")
EMOJI = [(0x231A, 0x231B), (0x23E9, 0x23EC), (0x23F0, 0x23F0), (0x23F3, 0x23F3), (0x25FD, 0x25FE), (0x2614, 0x2615), (0x2648, 0x2653),
         (0x267F, 0x267F), (0x2693, 0x2693), (0x26A1, 0x26A1), (0x26AA, 0x26AB), (0x26BD, 0x26BE), (0x26C4, 0x26C5), (0x26CE, 0x26CE),
         (0x26D4, 0x26D4), (0x26EA, 0x26EA), (0x26F2, 0x26F3), (0x26F5, 0x26F5), (0x26FA, 0x26FA), (0x26FD, 0x26FD), (0x2705, 0x2705),
         (0x270A, 0x270B), (0x2728, 0x2728), (0x274C, 0x274C), (0x274E, 0x274E), (0x2753, 0x2755), (0x2757, 0x2757), (0x2795, 0x2797),
         (0x27B0, 0x27B0), (0x27BF, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55)]

for weight in ("Regular", "SemiBold", "Bold"):
    font = ttLib.TTFont(system / f"opentype/inter/Inter-{weight}.otf", recalcTimestamp=False)
    for record in font["GSUB"].table.FeatureList.FeatureRecord:
        if record.FeatureTag == "calt":
            record.FeatureTag = "cal0"
    font.save(here / f"Inter-{weight}.otf", reorderTables=False)

for name in ("NotoSans", "NotoSansArabic", "NotoSansHebrew", "NotoSansDevanagari"):
    for weight in ("Regular", "Bold"):
        shutil.copyfile(system / f"truetype/noto/{name}-{weight}.ttf", here / f"{name}-{weight}.ttf")

options = subset.Options(layout_features=[], hinting=False, name_IDs=["*"], notdef_outline=True)
font = ttLib.TTFont(system / "truetype/dejavu/DejaVuSans.ttf", recalcTimestamp=False)
emoji = {code for first, last in EMOJI for code in range(first, last + 1)}
subsetter = subset.Subsetter(options)
subsetter.populate(unicodes=[code for code in range(0x2000, 0x2C00) if code not in emoji])
subsetter.subset(font)
for record in font["name"].names:  # under a name of its own: the installed DejaVu Sans has more scripts
    if record.nameID in (1, 3, 4, 6, 16):
        record.string = "HeadlightSymbols" if record.nameID == 6 else "Headlight Symbols"
font.save(here / "HeadlightSymbols.ttf")
