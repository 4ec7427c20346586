// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/theme.h"

#include <QIcon>
#include <QObject>

class QDBusVariant;
class QVariant;
class QWidget;

namespace headlight::ui {

/// Light, dark or as the desktop says; the application's palette and its one style sheet. Changes are live.
class Appearance : public QObject {
    Q_OBJECT
public:
    enum class Mode { system, light, dark };

    static Appearance& instance();
    /// Fusion, font, palette and style sheet; once, before the first widget.
    void start();

    const figure::Theme& theme() const;
    Mode mode() const { return mode_; }
    void set_mode(Mode);

Q_SIGNALS:
    void changed();

private Q_SLOTS:
    void portal_setting_changed(const QString& space, const QString& key, const QDBusVariant& value);

private:
    Appearance() = default;
    void apply();
    void ask_desktop();
    void set_system_dark(bool);

    Mode mode_ = Mode::system;
    bool system_dark_ = false;
    bool started_ = false;
};

/// The style sheet for a theme; every colour in it is a role of the theme.
QString style_sheet(const figure::Theme&);
/// A property that the style sheet reads, such as "role". A style sheet reads properties once: one that changes later is set
/// here.
void set_style_property(QWidget&, const char* name, const QVariant& value);

/// An icon from resources/icons, drawn in the theme's muted text colour (accent when checked, faint when disabled).
QIcon icon(const QString& name);

}  // namespace headlight::ui
